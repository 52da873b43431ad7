// Late labels from JavaScript: node client.js http://localhost:8731 TOKEN
const [url, token] = process.argv.slice(2);

async function call(path, body) {
  const answer = await fetch(`${url}/v1/joins/clicks-js${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status}: ${said.detail}`);
  return said;
}

async function main() {
  await call("", { capacity: 8, seed: 1 });
  const decisions = [];
  for (let i = 0; i < 100; i++) decisions.push({ id: `u${i}`, features: { basket: i } });
  const { tickets } = await call("/decide", { decisions });
  const labels = tickets.map(({ id }, i) => ({ id, label: i % 4 === 0 ? 1 : 0 }));
  const { outcomes } = await call("/label", { labels });
  // Rows that came out, weighted, stand for all decisions.
  const rows = outcomes.map((outcome) => outcome.row).filter((row) => row !== null);
  const total = rows.reduce((sum, row) => sum + row.weight, 0);
  const { mean } = await call("/estimate");
  console.log(JSON.stringify({ rows: rows.length, total, mean }));
}

main();

// Late labels from Go: go run client.go http://localhost:8731 TOKEN
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

type object = map[string]any

func call(path string, body any) object {
	text, _ := json.Marshal(body)
	request, _ := http.NewRequest("POST", os.Args[1]+"/v1/joins/clicks-go"+path, bytes.NewReader(text))
	request.Header.Set("Authorization", "Bearer "+os.Args[2])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	said := object{}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || answer.StatusCode >= 400 {
		panic(fmt.Sprint(answer.Status, said["detail"]))
	}
	return said
}

func main() {
	call("", object{"capacity": 8, "seed": 1})
	ticket := call("/decide", object{"id": "u1", "features": object{"basket": 10}})
	outcome := call("/label", object{"id": ticket["id"], "label": 1})
	row := outcome["row"].(object)
	fmt.Println(row["id"], row["label"], row["weight"])
}

"""The library over HTTP: joins and sessions for every language, many callers to one commit.

This room holds no rules of its own: it reads requests, makes the library's calls, and writes answers.
"""

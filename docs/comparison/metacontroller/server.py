"""Serves each hook: /NAME calls sync of NAME.py, /NAME/customize its customize."""
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
import json


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        module, _, function = self.path.strip("/").partition("/")
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = getattr(import_module(module), function or "sync")(request)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()

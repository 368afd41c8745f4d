#!/usr/bin/env python3
"""The conversion webhook of databases.example.com, with nothing but Python's standard library.

v1alpha1 has one role for each user and v1 a list of them. What does not fit into v1alpha1 is kept in an annotation.
"""
import copy
import json
import os
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEPT = "databases.example.com/roles"


def to_v1(old):
    new = copy.deepcopy(old)
    spec = new.get("spec") or {}  # server-side apply asks about objects whose spec is null
    if "address" in spec:
        host, port = spec.pop("address").rsplit(":", 1)
        spec["endpoint"] = {"host": host, "port": int(port)}
    if "confirmDeletion" in spec:
        spec["deletion"] = {"confirm": spec.pop("confirmDeletion")}
    kept = take_annotation(new)
    for user in spec.get("users", []):
        if "role" in user:
            role = user.pop("role")
            roles = kept.get(user["name"], [])
            user["roles"] = roles if roles[:1] == [role] else [role]
    return new


def to_v1alpha1(old):
    new = copy.deepcopy(old)
    spec = new.get("spec") or {}  # server-side apply asks about objects whose spec is null
    if "endpoint" in spec:
        endpoint = spec.pop("endpoint")
        spec["address"] = f"{endpoint['host']}:{endpoint['port']}"
    if "deletion" in spec:
        spec["confirmDeletion"] = spec.pop("deletion")["confirm"]
    kept = {}
    for user in spec.get("users", []):
        if "roles" in user:
            roles = user.pop("roles")
            user["role"] = roles[0]
            if len(roles) > 1:
                kept[user["name"]] = roles
    if kept:
        new["metadata"].setdefault("annotations", {})[KEPT] = json.dumps(kept, sort_keys=True)
    return new


def take_annotation(database):
    annotations = database["metadata"].get("annotations", {})
    kept = json.loads(annotations.pop(KEPT, "{}"))
    if not annotations:
        database["metadata"].pop("annotations", None)
    return kept


WAYS = {("example.com/v1alpha1", "example.com/v1"): to_v1, ("example.com/v1", "example.com/v1alpha1"): to_v1alpha1}


def converted(old, version):
    if old["apiVersion"] == version:
        return old
    new = WAYS[old["apiVersion"], version](old)
    new["apiVersion"] = version
    return new


class Webhook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is sent at once, not its header first

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        response = {"uid": request["uid"], "result": {"status": "Success"}}
        try:
            response["convertedObjects"] = [converted(o, request["desiredAPIVersion"]) for o in request["objects"]]
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            response["result"] = {"status": "Failed", "message": f"{type(error).__name__}: {error}"}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    folder = os.environ.get("WEBHOOK_CERT_DIR", "/tmp/k8s-webhook-server/serving-certs")
    server = ThreadingHTTPServer(("", int(os.environ.get("WEBHOOK_PORT", "9443"))), Webhook)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()

READ = ["get", "list", "watch"]
EDIT = READ + ["create", "update", "patch", "delete"]
VERBS = {"view": READ, "edit": EDIT, "admin": EDIT + ["deletecollection"]}


def sync(request):
    definition = request["object"]
    plural = definition["spec"]["names"]["plural"]
    return {"attachments": [{
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": definition["metadata"]["name"] + "-" + role,
            "labels": {"rbac.authorization.k8s.io/aggregate-to-" + role: "true"},
        },
        "rules": [{
            "apiGroups": [definition["spec"]["group"]],
            "resources": [plural, plural + "/status"],
            "verbs": verbs,
        }],
    } for role, verbs in VERBS.items()]}

def sync(request):
    foo = request["parent"]
    labels = {"app": "nginx", "controller": foo["metadata"]["name"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": foo["spec"]["deploymentName"]},
        "spec": {
            "replicas": foo["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]},
            },
        },
    }
    existing = request["children"]["Deployment.apps/v1"].get(foo["spec"]["deploymentName"], {})
    available = existing.get("status", {}).get("availableReplicas", 0)
    return {"status": {"availableReplicas": available}, "children": [deployment]}

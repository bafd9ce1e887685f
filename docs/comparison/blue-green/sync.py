def image_of(deployment):
    return deployment["spec"]["template"]["spec"]["containers"][0]["image"]


def is_ready(deployment, replicas):
    status = deployment.get("status", {})
    return (status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
            and all(status.get(field, 0) == replicas for field in ("replicas", "updatedReplicas", "availableReplicas")))


def sync(request):
    parent, spec = request["parent"], request["parent"]["spec"]
    name = parent["metadata"]["name"]
    deployments = request["children"]["Deployment.apps/v1"]
    service = request["children"]["Service.v1"].get(name, {})

    # The status says what is served. If it is lost, what exists does.
    status = parent.get("status", {})
    active = status.get("active") or service.get("spec", {}).get("selector", {}).get("color", "blue")
    image = status.get("image")
    if not image:
        served = deployments.get(name + "-" + active)
        image = image_of(served) if served else spec["image"]
    following = "green" if active == "blue" else "blue"

    images = {active: image}
    if image != spec["image"]:
        images[following] = spec["image"]
        candidate = deployments.get(name + "-" + following)
        if candidate and image_of(candidate) == spec["image"] and is_ready(candidate, spec["replicas"]):
            status = {"active": following, "image": spec["image"]}
        else:
            status = {"active": active, "image": image}
    else:
        status = {"active": active, "image": image}

    children = [{
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "selector": {"app": name, "color": active},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    }]
    for color, wanted in images.items():
        labels = {"app": name, "color": color}
        container = {"name": "web", "image": wanted, "ports": [{"name": "http", "containerPort": spec["port"]}]}
        children.append({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name + "-" + color, "labels": labels},
            "spec": {
                "replicas": spec["replicas"],
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        })
    return {"status": status, "children": children}

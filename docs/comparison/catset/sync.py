def is_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def ordinal(name):
    return int(name.rsplit("-", 1)[1])


def claim(name, labels, storage):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}},
    }


def pod(name, labels, cats):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "hostname": name,
            "subdomain": cats["metadata"]["name"],
            "containers": [{
                "name": "cat",
                "image": cats["spec"]["image"],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-" + name}}],
        },
    }


def sync(request):
    cats, children = request["parent"], request["children"]
    base, spec = cats["metadata"]["name"], cats["spec"]
    labels = {"cats": base}
    pods = children["Pod.v1"]
    desired = [{
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": base},
        "spec": {"clusterIP": "None", "selector": labels},
    }]

    # Pods up to the first that is not ready. Those that are too many go one by one, the last first.
    names = []
    for i in range(spec["replicas"]):
        names.append(base + "-" + str(i))
        if not is_ready(pods.get(names[-1], {})):
            break
    last = max(map(ordinal, pods), default=-1)
    names += [name for name in pods if name not in names and (ordinal(name) < spec["replicas"] or ordinal(name) < last)]

    claims = {"data-" + name for name in names} | set(children["PersistentVolumeClaim.v1"])
    desired += [claim(name, labels, spec["storage"]) for name in sorted(claims)]
    desired += [pod(name, labels, cats) for name in names]
    return {"status": {"readyPods": sum(map(is_ready, pods.values()))}, "children": desired}

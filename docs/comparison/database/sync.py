import base64
import secrets


def encode(text):
    return base64.b64encode(text.encode()).decode()


def customize(request):
    db = request["parent"]["metadata"]
    return {"relatedResources": [
        {"apiVersion": "v1", "resource": "pods", "namespace": db["namespace"], "names": [db["name"] + "-0"]},
    ]}


def sync(request):
    db, children = request["parent"], request["children"]
    name, namespace = db["metadata"]["name"], db["metadata"]["namespace"]
    labels = {"app.kubernetes.io/name": "postgres", "app.kubernetes.io/instance": name}
    # The password that exists, or else a new one.
    existing = children["Secret.v1"].get(name + "-credentials", {}).get("data", {})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name + "-credentials"},
        "data": {
            "username": encode("postgres"),
            "password": existing.get("password") or encode(secrets.token_urlsafe(24)),
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": labels, "ports": [{"name": "postgres", "port": 5432}]},
    }
    container = {
        "name": "postgres",
        "image": "postgres:" + db["spec"]["version"],
        "ports": [{"name": "postgres", "containerPort": 5432}],
        "env": [{
            "name": "POSTGRES_PASSWORD",
            "valueFrom": {"secretKeyRef": {"name": name + "-credentials", "key": "password"}},
        }],
        "volumeMounts": [{"name": "data", "mountPath": "/var/lib/postgresql/data"}],
    }
    statefulset = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": db["spec"]["storage"]}},
                },
            }],
        },
    }
    pods = list(request["related"]["Pod.v1"].values())
    status = {
        "phase": pods[0].get("status", {}).get("phase", "Pending") if pods else "Pending",
        "host": name + "." + namespace + ".svc",
        "secret": name + "-credentials",
    }
    return {"status": status, "children": [secret, service, statefulset]}

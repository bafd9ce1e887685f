package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// TestARestartWritesNothing creates a child of each of the common kinds by one POST and asks a Writer that remembers
// nothing.
func TestARestartWritesNothing(t *testing.T) {
	tests := map[string]string{
		"ConfigMap": "{apiVersion: v1, kind: ConfigMap, metadata: {name: child, labels: {}}, data: {a: b, c: ''}}",
		"Secret":    "{apiVersion: v1, kind: Secret, metadata: {name: child}, type: Opaque, data: {a: eA==}, stringData: {b: text}}",
		"Service": `{apiVersion: v1, kind: Service, metadata: {name: child},
			spec: {selector: {a: b}, ports: [{port: 80, targetPort: http, name: web}, {port: 53, protocol: UDP, name: dns}, {port: 54, name: third}]}}`,
		"ServiceAccount": "{apiVersion: v1, kind: ServiceAccount, metadata: {name: child}, automountServiceAccountToken: false, imagePullSecrets: [{name: a}]}",
		"Deployment":     deployment,
		"Deployment with empty parts": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: child}, spec: {replicas: 0, strategy: {},
			selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {}, tolerations: [], securityContext: {},
			volumes: [{name: v, emptyDir: {}}, {name: c, configMap: {name: x, items: []}}, {name: null-dir, emptyDir: null}],
			containers: [{name: c, image: i, env: [], resources: {limits: {}, requests: {cpu: 0.5}}, securityContext: {}}]}}}}`,
		"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: child}, spec: {replicas: 0, serviceName: s,
			selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}},
			volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
		"Job": `{apiVersion: batch/v1, kind: Job, metadata: {name: child}, spec: {suspend: true, template: {spec: {restartPolicy: Never,
			containers: [{name: c, image: i, resources: {limits: {cpu: 100m, memory: 1024Mi}}}]}}}}`,
		"CronJob": `{apiVersion: batch/v1, kind: CronJob, metadata: {name: child}, spec: {schedule: "* * * * *", suspend: true, jobTemplate: {spec:
			{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`,
		"PersistentVolumeClaim": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: child}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
		"HorizontalPodAutoscaler": `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: child}, spec: {minReplicas: 1, maxReplicas: 3,
			scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d},
			metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`,
		"PodDisruptionBudget": "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: child}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}",
		"Ingress": `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: child}, spec: {rules: [{host: a.example,
			http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`,
		"NetworkPolicy": `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: child}, spec: {podSelector: {matchLabels: {a: b}},
			policyTypes: [Ingress], ingress: [{}]}}`,
		"ResourceQuota": "{apiVersion: v1, kind: ResourceQuota, metadata: {name: child}, spec: {hard: {pods: 10, requests.cpu: '2'}}}",
		"LimitRange":    "{apiVersion: v1, kind: LimitRange, metadata: {name: child}, spec: {limits: [{type: Container, default: {cpu: 100m}}]}}",
		"Role":          "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: child}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"RoleBinding": `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: child},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, name: u}]}`,
		"Lease": "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: child}, spec: {holderIdentity: a, leaseDurationSeconds: 10}}",
		"status in the template": `{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {ports: [{port: 80}]},
			status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.child(text)
			w.sync(c, nil, ActionCreated, "POST")
			w.settled(c)
		})
	}
}

// TestWhatAPostCannotOwnIsAppliedAtOnce holds what Go's types do: a POST leaves no path for a false, a zero or an empty
// text that is dropped when it is stored, nor for an empty struct that is there in any case.
func TestWhatAPostCannotOwnIsAppliedAtOnce(t *testing.T) {
	tests := map[string]struct {
		text, drift string
	}{
		"podSelector: {} of a NetworkPolicy": {
			`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: child}, spec: {podSelector: {}, policyTypes: [Ingress]}}`,
			`[{"op": "add", "path": "/spec/podSelector/matchLabels", "value": {"a": "b"}}]`,
		},
		"paused: false of a Deployment": {
			strings.Replace(deployment, "replicas: 0", "replicas: 0\n  paused: false", 1),
			`[{"op": "add", "path": "/spec/paused", "value": true}]`,
		},
		"an empty text of an environment variable": {
			strings.Replace(deployment, "value: b", "value: ''", 1),
			`[{"op": "add", "path": "/spec/template/spec/containers/0/env/1/value", "value": "x"}]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.child(tt.text)
			live := w.sync(c, nil, ActionCreated, "POST APPLY")
			w.settled(c)
			changed := w.patch("other", live, tt.drift)
			w.sync(c, changed, ActionApplied, "APPLY")
			if diff := specText(t, w.get(live)); diff != specText(t, live) {
				t.Errorf("not put right: %s\nwas %s", diff, specText(t, live))
			}
		})
	}
}

// TestEmptyHasAMeaning holds why an empty struct is written: in the peer of a NetworkPolicy, namespaceSelector: {} is every
// namespace, and a peer without it is refused.
func TestEmptyHasAMeaning(t *testing.T) {
	w := newWorld(t)
	const peer = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: child}, spec: {podSelector: {matchLabels: {a: b}}, ingress: [{from: [{namespaceSelector: {}}]}]}}`
	c := w.child(peer)
	live := w.sync(c, nil, ActionCreated, "POST")
	from, ok := fieldValue(live, "spec", "ingress").([]any)
	if !ok || len(from) != 1 {
		t.Fatalf("ingress = %v", fieldValue(live, "spec", "ingress"))
	}
	without := w.object(strings.Replace(strings.Replace(peer, "namespaceSelector: {}", "", 1), "child", "without", 1))
	_, err := w.client(without).Create(t.Context(), without, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a peer without a selector: %v, want it refused", err)
	}
}

// TestPostDropsUnknownFieldsSilently holds why all writes are strict: without it a POST takes what an apply refuses.
func TestPostDropsUnknownFieldsSilently(t *testing.T) {
	w := newWorld(t)
	obj := w.object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: raw}, spec: {nonsense: 1, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	created, err := w.client(obj).Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore})
	if err != nil || fieldValue(created, "spec", "nonsense") != nil {
		t.Fatalf("POST: %v with %v; want the field dropped", err, fieldValue(created, "spec"))
	}
	_, err = w.client(obj).Apply(t.Context(), "raw", obj, metav1.ApplyOptions{FieldManager: "x", Force: true})
	if err == nil || !strings.Contains(err.Error(), "field not declared in schema") {
		t.Errorf("apply: %v, want it refused", err)
	}
	if !Permanent(err) {
		t.Errorf("%v is not seen to be permanent", err)
	}
	obj.SetName("strict")
	_, err = w.client(obj).Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsBadRequest(err) || !Permanent(err) {
		t.Errorf("strict POST: %v, want 400", err)
	}
}

func TestRefusedObjectsAreInvalid(t *testing.T) {
	w := newWorld(t)
	// What the schema tells needs no request.
	for name, text := range map[string]string{
		"an unknown field": strings.Replace(deployment, "replicas: 0", "replica: 0", 1),
		"a duplicate key":  `{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {ports: [{port: 80, name: a}, {port: 80, protocol: TCP, name: b}]}}`,
	} {
		_, err := w.writer.Prepare(t.Context(), wanted(w.object(text), w.owner, controllerRef(w.parent), fieldset.Policy{}))
		if class(err) != "invalid" || w.requests.take() != "" {
			t.Errorf("%s: %v, want *InvalidError without a request", name, err)
		}
	}
	// The rest is the server's to say.
	c := w.child(strings.Replace(deployment, "matchLabels: {app: child}", "matchLabels: {app: other}", 1))
	message := w.fails(c, nil, "invalid", "POST")
	for _, part := range []string{"Deployment.apps " + w.namespace + "/child", "spec.template.metadata.labels"} {
		if !strings.Contains(message, part) {
			t.Errorf("error %q does not tell %q", message, part)
		}
	}
	// Also of a change.
	c = w.child(deployment)
	live := w.sync(c, nil, ActionCreated, "POST")
	c = w.child(strings.ReplaceAll(deployment, "app: child", "app: renamed"))
	w.requests.take()
	if _, err := w.trySync(c, live); class(err) != "invalid" || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("change of an immutable field: %v", err)
	}
}

// TestANameThatIsTaken goes through whose the object of that name can be.
func TestANameThatIsTaken(t *testing.T) {
	const text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: b}}"
	t.Run("a stranger's", func(t *testing.T) {
		w := newWorld(t)
		stranger := w.post("kubectl", text)
		err := w.fails(w.child(text), nil, "taken", "POST GET")
		if want := "ConfigMap " + w.namespace + "/child exists already and belongs to others (field managers: kubectl); Kanon does not change it, unless the child has adopt: true"; err != want {
			t.Errorf("error %q, want %q", err, want)
		}
		w.fails(w.child(text), stranger, "taken", "")
		if got := w.get(stranger).GetResourceVersion(); got != stranger.GetResourceVersion() {
			t.Error("it was written to")
		}
	})
	t.Run("a stranger's with copied labels", func(t *testing.T) {
		w := newWorld(t)
		c := w.child(text)
		copied := w.object(text)
		copied.SetLabels(c.Object.GetLabels())
		stranger, err := w.client(copied).Create(t.Context(), copied, metav1.CreateOptions{FieldManager: "copier"})
		if err != nil {
			t.Fatal(err)
		}
		w.fails(c, stranger, "taken", "")
		w.fails(c, nil, "taken", "POST GET")
	})
	t.Run("of another rule", func(t *testing.T) {
		w := newWorld(t)
		other := w.child(text)
		w.sync(other, nil, ActionCreated, "POST")
		w.owner.RuleID, w.owner.Rule = mark.RuleID("kanon-system", "kanon-system", "second"), "kanon-system/second"
		err := w.fails(w.child(text), nil, "taken", "POST GET")
		if !strings.Contains(err, "rule kanon-system/test for ConfigMap") {
			t.Errorf("error %q does not tell the other rule", err)
		}
	})
	t.Run("ours, which the cache did not show", func(t *testing.T) {
		w := newWorld(t)
		c := w.child(text)
		w.sync(c, nil, ActionCreated, "POST")
		w.sync(c, nil, ActionNone, "POST GET")
		w.sync(w.child(strings.Replace(text, "a: b", "a: c", 1)), nil, ActionApplied, "POST GET PUT")
	})
	t.Run("of an earlier parent of the name", func(t *testing.T) {
		w := newWorld(t)
		// GC would collect a child whose owners are all gone, so this one has another that is there.
		earlier := w.owner
		earlier.Parent.UID = "00000000-0000-0000-0000-000000000000"
		object := w.object(text)
		another := controllerRef(w.parent)
		another.Controller, another.BlockOwnerDeletion = nil, nil
		object.SetOwnerReferences([]metav1.OwnerReference{*another})
		old, err := w.writer.Prepare(t.Context(), wanted(object, earlier, nil, fieldset.Policy{}))
		if err != nil {
			t.Fatal(err)
		}
		live := w.sync(old, nil, ActionCreated, "POST")
		got := w.fails(w.child(text), nil, "terminating", "POST GET")
		if !strings.Contains(got, "earlier ConfigMap "+w.namespace+"/parent") {
			t.Errorf("error %q does not tell the parent", got)
		}
		if w.get(live).GetResourceVersion() != live.GetResourceVersion() {
			t.Error("it was written to")
		}
	})
	t.Run("let go by an earlier parent of the name", func(t *testing.T) {
		w := newWorld(t)
		earlier := w.owner
		earlier.Parent.UID = "00000000-0000-0000-0000-000000000000"
		old, err := w.writer.Prepare(t.Context(), wanted(w.object(text), earlier, nil, fieldset.Policy{})) // without an owner, as after an orphaning deletion
		if err != nil {
			t.Fatal(err)
		}
		live := w.sync(old, nil, ActionCreated, "POST")
		if again := w.sync(w.child(text), live, ActionApplied, "GET JSONPATCH APPLY"); again.GetUID() != live.GetUID() {
			t.Error("it was created again")
		}
	})
	t.Run("being deleted", func(t *testing.T) {
		w := newWorld(t)
		c := w.child(strings.Replace(text, "name: child", "name: child, finalizers: [example.test/hold]", 1))
		live := w.sync(c, nil, ActionCreated, "POST")
		if err := w.client(live).Delete(t.Context(), "child", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		err := w.fails(c, nil, "terminating", "POST GET")
		if !strings.Contains(err, "example.test/hold") {
			t.Errorf("error %q does not tell what holds it", err)
		}
		w.fails(c, w.get(live), "terminating", "")
		w.patch("other", live, `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	})
}

// TestEndpointSlicesCopyLabels holds why labels prove nothing.
func TestEndpointSlicesCopyLabels(t *testing.T) {
	w := newWorld(t)
	c := w.child("{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {selector: {a: b}, ports: [{port: 80}]}}")
	w.sync(c, nil, ActionCreated, "POST")
	slices := w.object("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}")
	stream, err := w.client(slices).Watch(t.Context(), metav1.ListOptions{LabelSelector: mark.LabelRule + "=" + w.owner.RuleID})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	event := <-stream.ResultChan()
	slice, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("watch: %v", event)
	}
	if slice.GetLabels()[mark.LabelRule] != w.owner.RuleID {
		t.Errorf("labels = %v", slice.GetLabels())
	}
	if w.writer.Marks.Owns(slice, w.owner.RuleID, w.parent.GetUID()) {
		t.Error("the EndpointSlice is taken for a child of the parent")
	}
	if err := w.writer.Delete(t.Context(), resourceOf(slice), slice); err == nil {
		t.Error("it would have been deleted")
	}
}

// TestServerDoesNotAnswer shows that a failure is worth another try.
func TestServerDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	c := w.child("{apiVersion: v1, kind: ConfigMap, metadata: {name: child}}")
	c.Object.SetNamespace(w.namespace + "-absent")
	c.Ref.Namespace = w.namespace + "-absent"
	_, err := w.trySync(c, nil)
	if !strings.HasPrefix(class(err), "other") || !apierrors.IsNotFound(errors.Unwrap(err)) {
		t.Errorf("error = %v, want the server's, wrapped", err)
	}
}

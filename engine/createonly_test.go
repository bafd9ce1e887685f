package engine_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
)

// tokenRule makes a Secret once, with a password at random, and tells another
// object of it.
const tokenRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: token}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: secret
    when: ${parent.spec.?on.orValue(true)}
    updatePolicy: CreateOnly
    variables: [{name: password, value: "${random(24)}"}]
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${parent.metadata.name}-secret"}
      stringData:
        password: ${variables.password}
        url: db://${variables.password}@${parent.spec.color}
  - id: reader
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-reader"}
      data: {hash: "${sha256(children.?secret.data.password.orValue(b''))}", color: "${parent.spec.color}"}
`

// An object that is made once keeps what it was made with, whatever changes, and
// its readers see that; it goes when it is not rendered any more.
func TestCreateOnly(t *testing.T) {
	t.Parallel()
	secretObjects := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	w := newWorld(t, "Box")
	w.rule("token", tokenRule)
	stop := w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", "{color: red}")
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	made := w.get(secretObjects, w.home, "b-secret")
	password, url := decoded(t, made, "password"), decoded(t, made, "url")
	if len(password) != 24 || url != "db://"+password+"@red" {
		t.Fatalf("the password has %d characters, want 24, and the same in the URL", len(password))
	}
	hash := field(w.get(configMaps, w.home, "b-reader"), "data", "hash")
	same := func(when string) {
		t.Helper()
		now := w.get(secretObjects, w.home, "b-secret")
		if now.GetUID() != made.GetUID() || decoded(t, now, "password") != password || decoded(t, now, "url") != url {
			t.Errorf("%s: the Secret is another one, or has other values", when)
		}
		if got := field(w.get(configMaps, w.home, "b-reader"), "data", "hash"); got != hash {
			t.Errorf("%s: its reader sees another value", when)
		}
	}

	w.patch(boxes, w.home, "b", `{"spec":{"color":"blue"}}`)
	w.await(configMaps, w.home, "b-reader", "is updated", has("blue", "data", "color"))
	same("after a change of the parent")
	w.quiet()
	stop()
	from := w.requests.count()
	stop = w.run()
	w.patch(boxes, w.home, "b", `{"spec":{"other":"x"}}`)
	w.await(boxes, w.home, "b", "is looked at", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration()
	})
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests after a restart, want one for the condition's generation: %q", len(got), got)
	}
	same("after a restart")
	w.patch(secretObjects, w.home, "b-secret", `{"data":{"more":"eA=="}}`)
	w.quiet()
	if got := field(w.get(secretObjects, w.home, "b-secret"), "data", "more"); got != "eA==" {
		t.Errorf("what somebody added is %v, want it left alone", got)
	}
	stop()

	// Out of view, it is found by its name, and taken back as it is.
	w.patch(secretObjects, w.home, "b-secret", `{"metadata":{"labels":{"`+mark.LabelRule+`":null}}}`)
	w.run()
	w.await(secretObjects, w.home, "b-secret", "is labelled again", func(obj *unstructured.Unstructured) bool {
		return obj.GetLabels()[mark.LabelRule] != ""
	})
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()
	same("after its label was taken away")

	// Of an orphaning deletion it is left over, and returns to the parent of that name as it is.
	w.deleteOrphaning(boxes, w.home, "b")
	w.awaitGone(boxes, w.home, "b")
	parent := w.parent("Box", "b", "{color: green}")
	w.await(secretObjects, w.home, "b-secret", "is the new parent's", func(obj *unstructured.Unstructured) bool {
		owner, ok := mark.ReadOwner(obj)
		references := obj.GetOwnerReferences()
		return ok && owner.Parent.UID == parent.GetUID() && len(references) == 1 && references[0].UID == parent.GetUID()
	})
	w.await(configMaps, w.home, "b-reader", "is updated", has("green", "data", "color"))
	w.quiet()
	same("after the parent was created again")

	w.delete(secretObjects, w.home, "b-secret")
	again := w.await(secretObjects, w.home, "b-secret", "is created again", func(obj *unstructured.Unstructured) bool { return obj.GetUID() != made.GetUID() })
	if decoded(t, again, "password") == password {
		t.Error("the new Secret has the old password")
	}
	w.patch(boxes, w.home, "b", `{"spec":{"on":false}}`)
	w.awaitGone(secretObjects, w.home, "b-secret")
}

// An object that was there before is taken over as it is.
func TestCreateOnlyAdopts(t *testing.T) {
	t.Parallel()
	secretObjects := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	w := newWorld(t, "Box")
	w.rule("token", strings.ReplaceAll(tokenRule, "updatePolicy: CreateOnly", "updatePolicy: CreateOnly\n    adopt: true"))
	w.create(secretObjects, w.object(`{apiVersion: v1, kind: Secret, metadata: {name: b-secret, namespace: $HOME}, stringData: {password: mine}}`))
	parent := w.parent("Box", "b", "{color: red}")
	w.run()
	w.await(w.resource("Box"), w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()
	secret := w.get(secretObjects, w.home, "b-secret")
	if owner, ok := mark.ReadOwner(secret); !ok || owner.Parent.UID != parent.GetUID() || len(secret.GetOwnerReferences()) != 1 {
		t.Errorf("the Secret belongs to %v with owner references %v, want the parent", owner.Parent, secret.GetOwnerReferences())
	}
	if decoded(t, secret, "password") != "mine" || field(secret, "data", "url") != nil {
		t.Error("the Secret that was there has other content now")
	}
}

// What the API server refuses of a Secret does not show its values.
func TestCreateOnlyTellsNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("token", strings.ReplaceAll(tokenRule, "kind: Secret", "kind: Secret\n      type: kubernetes.io/tls"))
	w.run()
	w.parent("Box", "b", "{color: red}")
	stalled := w.await(w.resource("Box"), w.home, "b", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); strings.Contains(message, "db://") || !strings.Contains(message, "tls.crt") {
		t.Errorf("the condition says %q; want what is missing, and no value", message)
	}
}

func decoded(t *testing.T, secret *unstructured.Unstructured, key string) string {
	t.Helper()
	text, _ := field(secret, "data", key).(string)
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// An object that is made once is created again, whole and with another password, when its
// recreateWhen is true; until then it stays as it is.
func TestCreateOnlyThatIsRecreated(t *testing.T) {
	t.Parallel()
	secretObjects := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	w := newWorld(t, "Box")
	w.rule("token", strings.NewReplacer(
		"    updatePolicy: CreateOnly\n", "    updatePolicy: CreateOnly\n    recreateWhen: ${self.metadata.labels.color != parent.spec.color}\n",
		`-secret"}`, `-secret", labels: {color: "${parent.spec.color}"}}`).Replace(tokenRule))
	w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Hour, time.Hour })
	boxes := w.resource("Box")
	w.parent("Box", "b", "{color: red}")
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	first := w.get(secretObjects, w.home, "b-secret")
	hash := field(w.get(configMaps, w.home, "b-reader"), "data", "hash")

	w.patch(boxes, w.home, "b", `{"spec":{"color":"blue"}}`)
	second := w.await(secretObjects, w.home, "b-secret", "is another one", another(first.GetUID()))
	if decoded(t, second, "password") == decoded(t, first, "password") || !strings.HasSuffix(decoded(t, second, "url"), "@blue") {
		t.Error("the Secret was created again with something of the old one")
	}
	w.await(configMaps, w.home, "b-reader", "sees the new one", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "color") == "blue" && field(obj, "data", "hash") != hash
	})

	w.patch(boxes, w.home, "b", `{"spec":{"color":"green"}}`)
	w.await(boxes, w.home, "b", "says what is to come", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Reconciling", "reason") == "Recreating"
	})
	w.quiet()
	if now := w.get(secretObjects, w.home, "b-secret"); now.GetUID() != second.GetUID() || decoded(t, now, "url") != decoded(t, second, "url") {
		t.Error("the Secret was changed before it was time to recreate it")
	}
}

package engine_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
)

// generatedRule makes a Secret of which one field is generated once, and the others follow the parent.
const generatedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: token}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: secret
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${parent.metadata.name}-secret"}
      data:
        password: ${observed.secret.?data.?password.orValue(bytes(random(24)))}
        color: ${bytes(parent.spec.color)}
`

// generated has a Secret whose password is generated once.
type generated struct {
	*world
	secrets, boxes schema.GroupVersionResource
	password       string
}

// same changes the parent and holds that the Secret follows it, with the password that it had.
func (g *generated) same(color, when string) *unstructured.Unstructured {
	g.t.Helper()
	g.patch(g.boxes, g.home, "b", `{"spec":{"color":"`+color+`"}}`)
	g.await(g.secrets, g.home, "b-secret", "is "+color, has(base64.StdEncoding.EncodeToString([]byte(color)), "data", "color"))
	g.quiet()
	now := g.get(g.secrets, g.home, "b-secret")
	if got := decoded(g.t, now, "password"); got != g.password {
		g.t.Errorf("%s: the password is another one", when)
	}
	return now
}

// Every spelling of a field that is generated once is one.
func TestSpellingsOfAGeneratedField(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{
		"observed.?secret.?data.?password", "observed.?secret.data.?password",
		"observed[?'secret'].?data[?'password']", "observed.secret.?data.password",
	} {
		t.Run(spelling, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Box")
			g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, boxes: w.resource("Box")}
			w.rule("token", strings.Replace(generatedRule, "observed.secret.?data.?password", spelling, 1))
			w.run()
			w.parent("Box", "b", "{color: red}")
			w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
			if g.password = decoded(t, w.get(g.secrets, w.home, "b-secret"), "password"); len(g.password) != 24 {
				t.Fatalf("the password has %d characters, want 24", len(g.password))
			}
			g.same("blue", "after a change of the parent")
		})
	}
}

// A generated field keeps its value as long as the object has it, whatever becomes of the rule, of the marks of the object, and
// of Kanon.
func TestGeneratedField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	g.boxes = w.resource("Box")
	w.rule("token", generatedRule)
	stop := w.run()
	w.parent("Box", "b", "{color: red}")
	w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
	made := w.get(g.secrets, w.home, "b-secret")
	if g.password = decoded(t, made, "password"); len(g.password) != 24 {
		t.Fatalf("the password has %d characters, want 24", len(g.password))
	}
	g.same("blue", "after a change of the parent")

	w.quiet()
	stop()
	from := w.requests.count()
	stop = w.run()
	w.awaitLook("b")
	w.quiet()
	if got := w.requestsAtHome(from); len(got) > 0 {
		t.Errorf("%d requests after a restart, want none: %q", len(got), got)
	}
	g.same("green", "after a restart")
	stop()

	// Out of view: its label is gone.
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"labels":{"`+mark.LabelRule+`":null}}}`)
	w.patch(g.boxes, w.home, "b", `{"spec":{"color":"pink"}}`)
	stop = w.run()
	g.same("rose", "after its label was taken away")
	// In view, and its mark proves nothing.
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"annotations":{"`+mark.AnnotationApplied+`":null}}}`)
	g.same("red", "after its mark was taken away")
	stop()
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"annotations":{"`+mark.AnnotationApplied+`":"forged"}}}`)
	stop = w.run()
	g.same("blue", "after its mark was forged while Kanon was away")

	w.rule("token", strings.ReplaceAll(strings.ReplaceAll(generatedRule, "id: secret", "id: renamed"), "observed.secret", "observed.renamed"))
	g.same("green", "after the child got another id")
	w.texts("token", map[string]string{"rule.yaml": strings.Replace(generatedRule, "name: token", "name: other", 1)})
	w.await(g.secrets, w.home, "b-secret", "is the renamed rule's", func(obj *unstructured.Unstructured) bool {
		owner, ok := mark.ReadOwner(obj)
		return ok && owner.RuleID == mark.RuleID(w.kanon, w.kanon, "other")
	})
	now := g.same("gold", "after the rule got another name")
	if now.GetUID() != made.GetUID() {
		t.Error("the Secret is another one")
	}
	stop()
}

// Who sets another value has it kept. Who removes the field, or the object, has a new value made.
func TestGeneratedFieldIsRotated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	g.boxes = w.resource("Box")
	w.rule("token", strings.ReplaceAll(generatedRule, "id: secret", "id: secret\n    adopt: true"))
	w.create(g.secrets, w.object(`{apiVersion: v1, kind: Secret, metadata: {name: b-secret, namespace: $HOME}, stringData: {password: theirs}}`))
	w.parent("Box", "b", "{color: red}")
	stop := w.run()
	w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
	g.password = "theirs"
	g.same("blue", "after it was adopted")

	g.password = "mine"
	w.patch(g.secrets, w.home, "b-secret", `{"stringData":{"password":"mine"}}`)
	g.same("green", "after somebody set it")

	w.patch(g.secrets, w.home, "b-secret", `{"data":{"password":null}}`)
	removed := w.await(g.secrets, w.home, "b-secret", "has a new password", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "password") != nil
	})
	if g.password = decoded(t, removed, "password"); len(g.password) != 24 {
		t.Errorf("the new password has %d characters, want 24", len(g.password))
	}
	g.same("pink", "after it was removed and made again")
	stop()

	w.patch(g.secrets, w.home, "b-secret", `{"data":{"password":null}}`)
	stop = w.run()
	removed = w.await(g.secrets, w.home, "b-secret", "has a new password", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "password") != nil
	})
	if got := decoded(t, removed, "password"); got == g.password || len(got) != 24 {
		t.Errorf("the password that was removed while Kanon was away is back, or none: %d characters", len(got))
	}
	g.password = decoded(t, removed, "password")
	g.same("gold", "after it was removed while Kanon was away")

	w.delete(g.secrets, w.home, "b-secret")
	again := w.await(g.secrets, w.home, "b-secret", "is made again", func(obj *unstructured.Unstructured) bool { return obj.GetUID() != removed.GetUID() })
	if got := decoded(t, again, "password"); got == g.password || len(got) != 24 {
		t.Errorf("the new Secret has the old password, or none: %d characters", len(got))
	}
	stop()
}

// computedRule makes a Secret of which one field is generated once, and another is computed from that.
const computedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: token}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: secret
    variables:
    - {name: password, value: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${parent.metadata.name}-secret"}
      data:
        password: ${variables.password}
        url: ${bytes("postgres://app:" + string(variables.password) + "@" + parent.spec.color)}
        color: ${bytes(parent.spec.color)}
`

// agree watches a Secret from now on. What it returns holds that each version, the first one too, has the password and the URL
// that contains it.
func (g *generated) agree(name string) func() {
	g.t.Helper()
	watcher, err := g.at(g.secrets, g.home).Watch(g.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(watcher.Stop)
	return func() {
		g.t.Helper()
		last := g.get(g.secrets, g.home, name)
		for event := range watcher.ResultChan() {
			secret, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				g.t.Fatalf("the watch ended: %v", event.Object)
			}
			password := decoded(g.t, secret, "password")
			if password != g.password {
				g.t.Errorf("version %s has another password", secret.GetResourceVersion())
			}
			if want := "postgres://app:" + password + "@" + decoded(g.t, secret, "color"); decoded(g.t, secret, "url") != want {
				g.t.Errorf("in version %s the URL and the password do not agree", secret.GetResourceVersion())
			}
			if secret.GetResourceVersion() == last.GetResourceVersion() {
				return
			}
		}
	}
}

// What is computed from a generated value is written together with it, and follows it, whatever becomes of the parent, of the
// marks of the object, and of Kanon.
func TestFieldComputedFromGenerated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	g.boxes = w.resource("Box")
	w.rule("token", computedRule)
	agree := g.agree("b-secret")
	stop := w.run()
	w.parent("Box", "b", "{color: red}")
	w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
	made := w.get(g.secrets, w.home, "b-secret")
	if g.password = decoded(t, made, "password"); len(g.password) != 24 {
		t.Fatalf("the password has %d characters, want 24", len(g.password))
	}
	g.same("blue", "after a change of the parent")
	stop()
	w.patch(g.boxes, w.home, "b", `{"spec":{"color":"pink"}}`)
	stop = w.run()
	g.same("green", "after a restart")
	stop()
	// Out of view, so that nothing of it is observed.
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"labels":{"`+mark.LabelRule+`":null}}}`)
	w.patch(g.boxes, w.home, "b", `{"spec":{"color":"rose"}}`)
	stop = w.run()
	g.same("gold", "after its label was taken away")
	w.rule("token", strings.ReplaceAll(strings.ReplaceAll(computedRule, "id: secret", "id: renamed"), "observed.secret", "observed.renamed"))
	g.same("red", "after the child got another id")
	agree()

	// A new password comes with its URL.
	w.patch(g.secrets, w.home, "b-secret", `{"data":{"password":null}}`)
	rotated := w.await(g.secrets, w.home, "b-secret", "has a new password", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "password") != nil
	})
	if got := decoded(t, rotated, "password"); got == g.password || decoded(t, rotated, "url") != "postgres://app:"+got+"@red" {
		t.Error("the password that was removed is back, or the URL does not have the new one")
	}
	stop()
}

// An object that is recreated because of its updatePolicy keeps its generated values, and what is computed from them. With
// recreateWhen the rule asks for another object, and a value is generated for that.
func TestGeneratedFieldOfARecreatedObject(t *testing.T) {
	t.Parallel()
	for policy, kept := range map[string]bool{
		"updatePolicy: Recreate":                                        true,
		"updatePolicy: ApplyOrRecreate":                                 true,
		"recreateWhen: ${string(self.data.color) != parent.spec.color}": false,
		"recreateWhen: ${string(self.data.color) != parent.spec.color}\n    updatePolicy: Recreate": false,
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Box")
			g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
			g.boxes = w.resource("Box")
			w.rule("token", strings.NewReplacer("id: secret", "id: secret\n    "+policy, "      kind: Secret\n", "      kind: Secret\n      immutable: true\n").Replace(computedRule))
			w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Nanosecond, time.Hour })
			w.parent("Box", "b", "{color: red}")
			w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
			for _, color := range []string{"blue", "green"} {
				old := w.get(g.secrets, w.home, "b-secret")
				w.patch(g.boxes, w.home, "b", `{"spec":{"color":"`+color+`"}}`)
				now := w.await(g.secrets, w.home, "b-secret", "is "+color, has(base64.StdEncoding.EncodeToString([]byte(color)), "data", "color"))
				if now.GetUID() == old.GetUID() {
					t.Fatal("it was not recreated")
				}
				password := decoded(t, now, "password")
				if same := password == decoded(t, old, "password"); same != kept || len(password) != 24 {
					t.Errorf("%s: the password has %d characters, and is the old one: %t, want %t", color, len(password), same, kept)
				}
				if want := "postgres://app:" + password + "@" + color; decoded(t, now, "url") != want {
					t.Errorf("%s: the URL does not have the password", color)
				}
			}
		})
	}
}

// A value that is generated for an object ends with the object. Its replacement does not get the old value, even if the object
// was still there when the rule was evaluated, and is gone when the replacement is written. That is tried again at once, whatever
// minInterval says, and the parent is not ready before.
func TestGeneratedFieldOfAnObjectThatGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	g := &generated{world: w, secrets: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	g.boxes = w.resource("Box")
	w.rule("token", strings.Replace(computedRule, "  children:\n", `  children:
  - id: first
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-first"}
      data: {color: "${parent.spec.color}"}
`, 1)+"  minInterval: ${parent.spec.?pace.orValue(null)}\n")
	// The ConfigMap is written first, and its write is held once its color is to change.
	w.config = rest.CopyConfig(w.config)
	var armed atomic.Bool
	hold := holdRequests(w.config, func(r *http.Request) bool {
		return armed.Load() && r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+w.home+"/configmaps/b-first")
	})
	t.Cleanup(hold.Open)
	w.run(func(o *engine.Options) { o.ParallelWrites = 1 })
	w.parent("Box", "b", "{color: red}")
	w.await(g.boxes, w.home, "b", "is ready", isTrue("Ready"))
	old := w.get(g.secrets, w.home, "b-secret")
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.delete(g.secrets, w.home, "b-secret")
	w.quiet()

	armed.Store(true)
	w.patch(g.boxes, w.home, "b", `{"spec":{"color":"blue","pace":"1h"}}`)
	select {
	case <-hold.Arrived():
	case <-time.After(patience):
		t.Fatal("the ConfigMap is not written")
	}
	w.patch(g.secrets, w.home, "b-secret", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(g.secrets, w.home, "b-secret")
	if err := w.watches.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold.Open()
	ready := w.await(g.boxes, w.home, "b", "is ready with its new color", isReadyAt)
	now := w.get(g.secrets, w.home, "b-secret")
	password := decoded(t, now, "password")
	if password == decoded(t, old, "password") || len(password) != 24 {
		t.Errorf("the password has %d characters, and is the old one: %t", len(password), password == decoded(t, old, "password"))
	}
	if order, err := resourceversion.CompareResourceVersion(now.GetResourceVersion(), ready.GetResourceVersion()); order >= 0 || err != nil {
		t.Errorf("the parent was ready in version %s, before its Secret in version %s (%v)", ready.GetResourceVersion(), now.GetResourceVersion(), err)
	}
}

package apply

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// paths of ignored fields in the tests below.
func replicasPath() fieldset.Path { return fieldset.Path{{Field: "spec"}, {Field: "replicas"}} }

func imagePath(container string) fieldset.Path {
	return fieldset.Path{
		{Field: "spec"},
		{Field: "template"},
		{Field: "spec"},
		{Field: "containers"},
		{Keys: map[string]string{"name": container}},
		{Field: "image"},
	}
}

const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: child, annotations: {a.b/c: first, a.b/d: first}}
spec:
  replicas: 3
  paused: true
  selector: {matchLabels: {app: child}}
  template:
    metadata: {labels: {app: child}}
    spec:
      containers:
      - {name: web, image: "web:1", command: [serve]}
`

const sidecar = `      - {name: sidecar, image: "sidecar:1", command: [watch]}
`

// ignoring prepares a child that leaves fields to others.
func (w *world) ignoring(text string, ignore ...fieldset.Path) *Child {
	w.t.Helper()
	c, err := w.writer.Prepare(w.t.Context(), wanted(w.object(text), w.owner, controllerRef(w.parent), fieldset.Policy{Ignore: ignore}))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// imageOf is the image of a live Deployment's container.
func imageOf(live *unstructured.Unstructured, container string) any {
	containers, _ := fieldValue(live, "spec", "template", "spec", "containers").([]any)
	for _, item := range containers {
		if c, ok := item.(map[string]any); ok && c["name"] == container {
			return c["image"]
		}
	}
	return nil
}

func (w *world) wantLive(live *unstructured.Unstructured, replicas int64, image string) {
	w.t.Helper()
	if got := fieldValue(live, "spec", "replicas"); got != replicas {
		w.t.Errorf("replicas are %v, want %d", got, replicas)
	}
	if got := imageOf(live, "web"); got != image {
		w.t.Errorf("the image is %v, want %s", got, image)
	}
}

// scale does what an autoscaler does, setImage what kubectl set image does.
func (w *world) scale(obj *unstructured.Unstructured, replicas int) *unstructured.Unstructured {
	w.t.Helper()
	w.patch("autoscaler", obj, fmt.Sprintf(`[{"op": "replace", "path": "/spec/replicas", "value": %d}]`, replicas), "scale")
	return w.get(obj)
}

func (w *world) setImage(obj *unstructured.Unstructured, image string) *unstructured.Unstructured {
	w.t.Helper()
	return w.patch("kubectl-set", obj, fmt.Sprintf(`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": %q}]`, image))
}

func TestIgnoredFieldsAreLeftToOthers(t *testing.T) {
	w := newWorld(t)
	ignore := []fieldset.Path{replicasPath(), imagePath("web"), {{Field: "metadata"}, {Field: "annotations"}, {Field: "a.b/c"}}}
	c := w.ignoring(scaled, ignore...)
	live := w.sync(c, nil, ActionCreated, "POST")
	w.wantLive(live, 3, "web:1")
	w.settled(c)

	live = w.scale(live, 5)
	live = w.setImage(live, "web:2")
	live = w.patch("other", live, `[{"op": "replace", "path": "/metadata/annotations/a.b~1c", "value": "theirs"}]`)
	w.settled(c)

	// What the template says of them does not matter any more.
	c = w.ignoring(strings.NewReplacer("replicas: 3", "replicas: 4", "web:1", "web:3").Replace(scaled), ignore...)
	w.settled(c)
	c = w.ignoring(strings.NewReplacer("  replicas: 3\n", "", `, image: "web:1"`, "").Replace(scaled), ignore...)
	w.settled(c)

	// A change beside them, with the same paths and with others.
	c = w.ignoring(strings.Replace(scaled, "paused: true", "paused: false", 1), ignore...)
	live = w.sync(c, live, ActionApplied, "APPLY")
	w.wantLive(live, 5, "web:2")
	w.settled(c)
	c = w.ignoring(strings.Replace(scaled, "  paused: true\n", "", 1), ignore...)
	live = w.sync(c, w.get(live), ActionApplied, "GET JSONPATCH APPLY")
	w.wantLive(live, 5, "web:2")
	if got := fieldValue(live, "metadata", "annotations", "a.b/c"); got != "theirs" {
		t.Errorf("the annotation is %v", got)
	}
	w.settled(c)
}

// Fields that nobody else has touched keep what the creation gave them: they do not fall to their defaults.
func TestIgnoredFieldsOfNobodyStay(t *testing.T) {
	w := newWorld(t)
	c := w.ignoring(scaled, replicasPath(), imagePath("web"))
	live := w.sync(c, nil, ActionCreated, "POST")
	c = w.ignoring(strings.Replace(scaled, "  paused: true\n", "", 1), replicasPath(), imagePath("web"))
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH APPLY")
	w.wantLive(live, 3, "web:1")
	c = w.ignoring(scaled, replicasPath(), imagePath("web"))
	live = w.sync(c, live, ActionApplied, "APPLY")
	w.wantLive(live, 3, "web:1")
	w.settled(c)
}

func TestIgnoreThatIsAddedAndRemoved(t *testing.T) {
	for name, applied := range map[string]bool{"of a child that was created only": false, "of a child that was applied": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.ignoring(scaled)
			live := w.sync(c, nil, ActionCreated, "POST")
			if applied {
				c = w.ignoring(strings.Replace(scaled, "paused: true", "paused: false", 1))
				live = w.sync(c, live, ActionApplied, "APPLY")
			}
			// Added, with a template that says nothing of replicas any more.
			c = w.ignoring(strings.Replace(scaled, "  replicas: 3\n", "", 1), replicasPath(), imagePath("web"))
			live = w.sync(c, w.get(live), ActionApplied, "GET JSONPATCH APPLY")
			w.wantLive(live, 3, "web:1")
			w.settled(c)
			live = w.scale(live, 7)
			live = w.setImage(live, "web:2")
			w.settled(c)

			// Removed: the rule takes the fields back, and drift of them is seen again.
			c = w.ignoring(scaled)
			live = w.sync(c, w.get(live), ActionApplied, "APPLY")
			w.wantLive(live, 3, "web:1")
			w.settled(c)
			live = w.scale(live, 9)
			live = w.sync(c, live, ActionApplied, "APPLY")
			w.wantLive(live, 3, "web:1")
		})
	}
}

// What holds an ignored field is made whole when it is added later or somebody has taken it away, and is left to others
// after that.
func TestWhatHoldsAnIgnoredFieldIsMadeWhole(t *testing.T) {
	w := newWorld(t)
	ignore := []fieldset.Path{imagePath("sidecar"), replicasPath()}
	c := w.ignoring(scaled, ignore...)
	live := w.sync(c, nil, ActionCreated, "POST")
	c = w.ignoring(scaled+sidecar, ignore...)
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH GET APPLY")
	if got := imageOf(live, "sidecar"); got != "sidecar:1" {
		t.Fatalf("the new container has image %v", got)
	}
	w.settled(c)

	// The apply that made it made us its owner; the next one must not take the image away.
	c = w.ignoring(strings.Replace(scaled, "paused: true", "paused: false", 1)+sidecar, ignore...)
	live = w.sync(c, w.get(live), ActionApplied, "GET JSONPATCH APPLY")
	if got := imageOf(live, "sidecar"); got != "sidecar:1" {
		t.Errorf("after another apply the container has image %v", got)
	}
	w.settled(c)

	live = w.patch("other", live, `[{"op": "remove", "path": "/spec/template/spec/containers/1"}]`)
	live = w.sync(c, live, ActionApplied, "GET APPLY")
	if got := imageOf(live, "sidecar"); got != "sidecar:1" {
		t.Errorf("the container that was taken away came back with image %v", got)
	}
}

func TestIgnoredKeysOfASecret(t *testing.T) {
	w := newWorld(t)
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: child}\nstringData: {pin: '1', tls.crt: one}\n"
	ignored := fieldset.Path{{Field: "stringData"}, {Field: "tls.crt"}}
	c := w.ignoring(secret, ignored)
	live := w.sync(c, nil, ActionCreated, "POST")
	live = w.patch("other", live, `[{"op": "replace", "path": "/data/tls.crt", "value": "dHdv"}]`)
	w.settled(c)
	c = w.ignoring(strings.Replace(secret, "'1'", "'2'", 1), ignored)
	live = w.sync(c, live, ActionApplied, "PUT")
	if got := fieldValue(live, "data", "tls.crt"); got != "dHdv" {
		t.Errorf("data[tls.crt] = %v", got)
	}
	if got := fieldValue(live, "data", "pin"); got != "Mg==" {
		t.Errorf("data.pin = %v", got)
	}
}

// A part of what is one value to the API server cannot be left to others.
func TestPartsThatCannotBeIgnored(t *testing.T) {
	w := newWorld(t)
	tests := map[string]struct {
		path fieldset.Path
		want string
	}{
		"in an atomic map": {
			fieldset.Path{{Field: "spec"}, {Field: "selector"}, {Field: "matchLabels"}, {Field: "app"}},
			"ignore: spec.selector.matchLabels.app: spec.selector is one value to the API server; ignore it as a whole, or nothing of it",
		},
		"in an atomic list": {
			append(imagePath("web")[:5:5], fieldset.Step{Field: "command"}, fieldset.Step{Keys: map[string]string{"name": "x"}}),
			"ignore: spec.template.spec.containers[name=web].command[name=x]: spec.template.spec.containers[name=web].command is one value to the API server; ignore it as a whole, or nothing of it",
		},
		"by a field that tells nothing apart": {
			append(imagePath("web")[:4:4], fieldset.Step{Keys: map[string]string{"image": "x"}}, fieldset.Step{Field: "command"}),
			"ignore: spec.template.spec.containers[image=x].command: the items of spec.template.spec.containers are told apart by name, not by image",
		},
		"a key": {
			append(imagePath("web")[:5:5], fieldset.Step{Field: "name"}),
			"ignore: spec.template.spec.containers[name=web].name: name tells the items of spec.template.spec.containers apart",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := w.writer.Prepare(t.Context(), wanted(w.object(scaled), w.owner, controllerRef(w.parent), fieldset.Policy{Ignore: []fieldset.Path{tt.path}}))
			if class(err) != "invalid" || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v (%s), want %s", err, class(err), tt.want)
			}
		})
	}
	w.requests.take()
}

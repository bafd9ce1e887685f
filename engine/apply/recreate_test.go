package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: child}, spec: {suspend: true, parallelism: 1,
	template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}`

// A change that the API server refuses is told from an object that it refuses, by what it answers and by a dry run.
func TestImmutable(t *testing.T) {
	const (
		service = `{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {type: NodePort, ports: [{port: 80}]}}`
		secret  = `{apiVersion: v1, kind: Secret, metadata: {name: child}, type: Opaque}`
		claim   = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: child}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
		config  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, immutable: true, data: {a: b}}`
		set     = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: child}, spec: {serviceName: a, replicas: 0,
			selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`
		deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: child}, spec: {paused: true, replicas: 0,
			selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`
	)
	tests := map[string]struct {
		before  string
		replace []string
		// fields are those that nobody may change; none: it is refused for another reason.
		fields   string
		accepted bool
	}{
		"the template of a Job":              {job, []string{"a:1", "a:2"}, "spec.template", true},
		"the selector of a Deployment":       {deployment, []string{"a: b", "a: c"}, "spec.selector", true},
		"the serviceName of a StatefulSet":   {set, []string{"serviceName: a", "serviceName: b"}, "spec", true},
		"the clusterIP of a Service":         {service, []string{"type: NodePort,", "clusterIP: None,"}, "spec.clusterIPs[0]", true},
		"the type of a Secret":               {secret, []string{"Opaque", "example.com/mine"}, "type", true},
		"the data of an immutable ConfigMap": {config, []string{"a: b", "a: c"}, "data", true},
		"the modes of a claim":               {claim, []string{"ReadWriteOnce", "ReadWriteMany"}, "spec", true},
		"a Job that is wrong besides":        {job, []string{"a:1", "a:2", "name: a,", "name: A_,"}, "spec.template", false},
		"a number that is out of range":      {job, []string{"parallelism: 1", "parallelism: -1"}, "", false},
		"an image that is missing":           {deployment, []string{"image: a", "command: [a]"}, "", false},
		"a word that nobody knows":           {service, []string{"type: NodePort", "type: immutable"}, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			live := w.made(tt.before)
			changed := w.child(strings.NewReplacer(tt.replace...).Replace(tt.before))
			_, err := w.writer.Sync(t.Context(), changed, live)
			if !errors.As(err, new(*InvalidError)) {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			var fields []string
			if immutable, ok := errors.AsType[*ImmutableError](err); ok {
				fields = immutable.Fields()
				if immutable.Live.GetUID() != live.GetUID() {
					t.Error("the error has another object")
				}
			}
			if tt.fields == "" && fields != nil || tt.fields != "" && !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, tt.fields) }) {
				t.Errorf("refused for changes of %q, want %q: %v", fields, tt.fields, err)
			}
			err = w.writer.WouldCreate(t.Context(), changed, live)
			if (err == nil) != tt.accepted {
				t.Errorf("WouldCreate: %v, want accepted: %t", err, tt.accepted)
			}
			if now, err := w.client(live).Get(t.Context(), "child", metav1.GetOptions{}); err != nil || now.GetUID() != live.GetUID() || now.GetDeletionTimestamp() != nil {
				t.Errorf("the object is another one, or is gone: %v", err)
			}
		})
	}
}

// made is a child that was created.
func (w *world) made(text string) *unstructured.Unstructured {
	w.t.Helper()
	result, err := w.trySync(w.child(text), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return result.Live
}

// What the old Service holds is no reason to refuse the new one.
func TestWouldCreateWhatIsHeld(t *testing.T) {
	w := newWorld(t)
	const text = `{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {type: NodePort, ports: [{port: 80}]}}`
	live := w.made(text)
	same := w.child(text)
	spec, _ := same.Object.Object["spec"].(map[string]any)
	held, _ := live.Object["spec"].(map[string]any)
	spec["clusterIP"], spec["ports"] = held["clusterIP"], held["ports"]
	if err := w.writer.WouldCreate(t.Context(), same, live); err != nil {
		t.Errorf("it is refused for what the old one holds: %v", err)
	}
	other := with(live, func(obj *unstructured.Unstructured) { obj.Object["spec"] = map[string]any{} })
	if err := w.writer.WouldCreate(t.Context(), same, other); err == nil {
		t.Error("it is accepted with what another one holds")
	}
}

// A field that begins to be ignored is no other content, and one that is ignored no more is.
func TestContentOfWhatIsHandedOver(t *testing.T) {
	w := newWorld(t)
	x, y := fieldset.Path{{Field: "data"}, {Field: "x"}}, fieldset.Path{{Field: "data"}, {Field: "y"}}
	prepare := func(text string, relinquished ...fieldset.Path) *Child {
		t.Helper()
		policy := fieldset.Policy{Content: true, Ignore: append([]fieldset.Path{{{Field: "data"}, {Field: "always"}}}, relinquished...), Relinquished: relinquished}
		child, err := w.writer.Prepare(t.Context(), wanted(w.object(text), w.owner, nil, policy))
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: b, always: "1", x: "1", y: "1"}}`
	another := strings.Replace(text, "a: b", "a: c", 1)
	tests := map[string]struct {
		before, after *Child
		changed       bool
	}{
		"one begins":                    {prepare(text), prepare(text, x), false},
		"two begin":                     {prepare(text), prepare(text, x, y), false},
		"another one begins":            {prepare(text, x), prepare(text, x, y), false},
		"one begins, and another value": {prepare(text), prepare(another, x), true},
		"one ends":                      {prepare(text, x), prepare(text), true},
		"one begins, another one ends":  {prepare(text, x), prepare(text, y), true},
		"a value that is ignored":       {prepare(text, x), prepare(strings.Replace(text, `x: "1"`, `x: "2"`, 1), x), false},
		"a value that is not yet":       {prepare(text), prepare(strings.Replace(text, `x: "1"`, `x: "2"`, 1)), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := tt.before.Object
			outdated, known := fieldset.Outdated(w.object(text), live, tt.after.policy)
			if tt.after.Outdated(live) != tt.changed || tt.after.Changed(live) != tt.changed {
				t.Errorf("outdated %t, changed %t, want %t", tt.after.Outdated(live), tt.after.Changed(live), tt.changed)
			}
			if !known {
				t.Errorf("it is not known whether it is outdated: %t", outdated)
			}
		})
	}
}

// Only what was rendered counts as content, without what is ignored.
func TestContent(t *testing.T) {
	w := newWorld(t)
	policy := fieldset.Policy{Content: true, Ignore: []fieldset.Path{{{Field: "data"}, {Field: "x"}}}}
	prepare := func(text string, owner mark.Owner) *Child {
		t.Helper()
		child, err := w.writer.Prepare(t.Context(), wanted(w.object(text), owner, nil, policy))
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: b, x: "1"}}`
	child := prepare(text, w.owner)
	live := child.Object
	other := w.owner
	other.Node = "other"
	plain := *child.Object.DeepCopy()
	annotations := plain.GetAnnotations()
	annotations[mark.AnnotationApplied] = strings.Replace(annotations[mark.AnnotationApplied], "."+child.fingerprint.Content+".", "..", 1)
	plain.SetAnnotations(annotations)
	tests := map[string]struct {
		reason            string
		child             *Child
		live              *unstructured.Unstructured
		outdated, changed bool
	}{
		"the same":          {"nothing changed", child, live, false, false},
		"other marks":       {"they are not content", prepare(text, other), live, false, false},
		"ignored":           {"it is left to others", prepare(strings.Replace(text, `"1"`, `"2"`, 1), w.owner), live, false, false},
		"a null more":       {"it is applied, but says the same", prepare(strings.Replace(text, "a: b", "a: b, n: null", 1), w.owner), live, true, false},
		"another value":     {"it says something else", prepare(strings.Replace(text, "a: b", "a: c", 1), w.owner), live, true, true},
		"an older record":   {"the same is the same", child, &plain, false, false},
		"older and another": {"it may be another content: it is not certain", prepare(strings.Replace(text, "a: b", "a: c", 1), w.owner), &plain, true, false},
		"without a record":  {"nothing is known", child, w.object(text), true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.child.Outdated(tt.live) != tt.outdated || tt.child.Changed(tt.live) != tt.changed {
				t.Errorf("outdated %t, changed %t: %s", tt.child.Outdated(tt.live), tt.child.Changed(tt.live), tt.reason)
			}
		})
	}
}

// TestImmutableErrorIsShort holds that the value of a large field is not in the message.
func TestImmutableErrorIsShort(t *testing.T) {
	of := func(value string) error {
		path := field.NewPath("spec", "template")
		return &ImmutableError{Err: apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "j", field.ErrorList{
			field.Invalid(path, value, "field is immutable"),
		})}
	}
	for value, want := range map[string]string{
		"small":                   `Job.batch "j" is invalid: spec.template: Invalid value: "small": field is immutable`,
		strings.Repeat("x", 1000): "the API server does not allow a change of spec.template",
	} {
		if got := of(value).Error(); got != want {
			t.Errorf("the error is %s, want %s", got, want)
		}
	}
}

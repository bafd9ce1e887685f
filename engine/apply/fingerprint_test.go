package apply

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

const fullThing = `
apiVersion: test/v1
kind: Thing
metadata: {name: child, namespace: ns, labels: {a: b}}
data: {key: value}
spec:
  replicas: 2
  paused: false
  args: [k, l]
  selector: {a: b}
  emptyDir: {}
  ports: [{port: 80, name: http}, {port: 53, protocol: UDP}]
`

func prepare(tb testing.TB, text string) *Child {
	tb.Helper()
	owner := testOwner()
	c, err := offline(tb).Prepare(tb.Context(), wanted(object(tb, text), owner, controllerOf(owner.Parent), fieldset.Policy{}))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestPrepareMarksTheChild(t *testing.T) {
	in := object(t, fullThing)
	before := in.DeepCopy()
	owner := testOwner()
	c, err := offline(t).Prepare(t.Context(), wanted(in, owner, controllerOf(owner.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object, in.Object); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	wantLabels := map[string]string{"a": "b", mark.LabelRule: owner.RuleID}
	if diff := cmp.Diff(wantLabels, c.Object.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(references(owner.Parent), c.Object.GetOwnerReferences()); diff != "" {
		t.Errorf("ownerReferences (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{mark.AnnotationApplied}, slices.Collect(maps.Keys(c.Object.GetAnnotations()))); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
	got, ok := testMarks().OwnerOf(c.Object)
	if got.Rule = owner.Rule; !ok || !cmp.Equal(got, owner, cmpopts.IgnoreUnexported(mark.Owner{})) {
		t.Errorf("OwnerOf = %+v, %t; want %+v", got, ok, owner)
	}
	if got, ok := mark.Recorded(c.Object); !ok || got != c.fingerprint {
		t.Errorf("recorded = %+v, %t; want %+v", got, ok, c.fingerprint)
	}
}

func TestPrepareKeepsOtherReferencesAndReplacesItsOwn(t *testing.T) {
	owner := testOwner()
	in := object(t, rendered)
	other := references(mark.Ref{Group: "g", Kind: "K", Name: "n", UID: "other"})[0]
	other.Controller = nil
	stale := references(owner.Parent)[0]
	stale.Name = "stale"
	in.SetOwnerReferences(append(references(mark.Ref{}), other, stale)[1:])
	c, err := offline(t).Prepare(t.Context(), wanted(in, owner, controllerOf(owner.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(references(mark.Ref{}), other, references(owner.Parent)[0])[1:], c.Object.GetOwnerReferences()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFingerprint(t *testing.T) {
	base := prepare(t, fullThing).fingerprint
	tests := map[string]struct {
		old, new             string
		sameValue, samePaths bool
	}{
		"the order of keys does not matter": {"{key: value}\nspec:\n  replicas: 2", "{key: value}\nspec:\n  replicas: 2", true, true},
		"an equal number in another form":   {"replicas: 2", "replicas: 2.0", true, true},
		"what normalising adds":             {"name: http}", "name: http, protocol: TCP}", true, true},
		"a null":                            {"paused: false", "paused: false\n  nullable2: null", true, true},
		"a value":                           {"replicas: 2", "replicas: 3", false, true},
		"an item of an atomic list":         {"[k, l]", "[k, m]", false, true},
		"a path":                            {"paused: false", "limits: {cpu: a}", false, false},
		"a key of a granular map":           {"{key: value}", "{key2: value}", false, false},
		"a key of an atomic map":            {"selector: {a: b}", "selector: {c: b}", false, true},
		"a key of a list map":               {"port: 53", "port: 54", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(fullThing, tt.old) {
				t.Fatalf("%q is not in the object", tt.old)
			}
			got := prepare(t, strings.Replace(fullThing, tt.old, tt.new, 1)).fingerprint
			if (got.Value == base.Value) != tt.sameValue || (got.Paths == base.Paths) != tt.samePaths {
				t.Errorf("fingerprint %s, of the base %s; want same value %t, same paths %t", got, base, tt.sameValue, tt.samePaths)
			}
		})
	}
}

func TestFingerprintDoesNotCoverItself(t *testing.T) {
	c := prepare(t, fullThing)
	again := c.Object.DeepCopy()
	again.SetOwnerReferences(nil)
	copied, err := offline(t).Prepare(t.Context(), wanted(again, c.Owner, controllerOf(c.Owner.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	if copied.fingerprint != c.fingerprint {
		t.Errorf("of a copy of what was written: %s, want %s", copied.fingerprint, c.fingerprint)
	}
}

func TestFingerprintIsStableAcrossProcesses(t *testing.T) {
	// A fixed text: one that changed with a new version of Kanon or of its libraries would apply everything once more.
	// When that is meant, raise markVersion too.
	want := mark.Fingerprint{Value: "wOnSKQtSXcMDMTgT", Paths: "Zb9BIUDepj9L"}
	if got := prepare(t, fullThing).fingerprint; got != want {
		t.Errorf("fingerprint = %+v, want %+v", got, want)
	}
}

func TestWithoutASchemaPathsCoverListContents(t *testing.T) {
	const unknown = "apiVersion: v9\nkind: Unknown\nmetadata: {name: a, namespace: ns}\nspec: {list: [{name: a}], scalar: 1}\n"
	base := prepare(t, unknown)
	item := prepare(t, strings.Replace(unknown, "name: a}]", "name: b}]", 1))
	if item.fingerprint.Paths == base.fingerprint.Paths {
		t.Error("two lists that the server may tell apart by their items have one path-set hash")
	}
	scalar := prepare(t, strings.Replace(unknown, "scalar: 1", "scalar: 2", 1))
	if scalar.fingerprint.Paths != base.fingerprint.Paths || scalar.fingerprint.Value == base.fingerprint.Value {
		t.Error("a scalar changes the value hash alone")
	}
}

func TestPrepareRefuses(t *testing.T) {
	tests := map[string]struct{ text, path string }{
		"duplicate keys of a list map": {
			"spec: {ports: [{port: 80}, {port: 80, protocol: TCP}]}",
			`spec.ports: duplicate entries for key [port=80,protocol="TCP"]`,
		},
		"duplicate items of a set": {"spec: {finalizers: [a, a]}", `spec.finalizers: duplicate entries for key [="a"]`},
		"an unknown field":         {"spec: {nonsense: 1}", "spec.nonsense: field not declared in schema"},
		"a wrong type":             {`spec: {replicas: "2"}`, "spec.replicas: expected numeric"},
		"no Go types in messages":  {`spec: {args: [true]}`, "spec.args[0]: expected string, got true"},
		"a list for a map":         {"spec: []", "spec: expected map"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := offline(t).Prepare(t.Context(), wanted(object(t, rendered+tt.text), testOwner(), nil, fieldset.Policy{}))
			if class(err) != "invalid" {
				t.Fatalf("error = %v, want *InvalidError", err)
			}
			if !strings.Contains(err.Error(), "Thing.test ns/child") || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("error %q does not tell the object and %q", err, tt.path)
			}
		})
	}
}

func TestPrepareNeedsAName(t *testing.T) {
	_, err := offline(t).Prepare(t.Context(), wanted(object(t, "apiVersion: test/v1\nkind: Thing\nmetadata: {generateName: a-}\n"), testOwner(), nil, fieldset.Policy{}))
	if class(err) != "invalid" {
		t.Errorf("error = %v, want *InvalidError", err)
	}
}

func TestPrepareAsksForANewerSchemaBeforeItRefuses(t *testing.T) {
	w := offline(t)
	w.Server = NewAPI(nil, &fakeSchemas{
		known: applytest.Converter(t, applytest.Schemas),
		next:  applytest.Converter(t, strings.Replace(applytest.Schemas, "paused: {type: boolean}", "paused: {type: string}", 1)),
	}, applytest.NoStatus)
	if _, err := w.Prepare(t.Context(), wanted(object(t, rendered+"spec: {paused: text}"), testOwner(), nil, fieldset.Policy{})); err != nil {
		t.Errorf("refused by an old schema: %v", err)
	}
}

func TestPrepareDoesNotTakeAFailureForNoSchema(t *testing.T) {
	failure := errors.New("connection refused")
	w := offline(t)
	w.Server = NewAPI(nil, &fakeSchemas{err: failure}, applytest.NoStatus)
	_, err := w.Prepare(t.Context(), wanted(object(t, rendered), testOwner(), nil, fieldset.Policy{}))
	if !errors.Is(err, failure) || class(err) == "invalid" {
		t.Errorf("error = %v, want the failure itself", err)
	}
}

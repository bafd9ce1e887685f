package rules

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/rules/program"
)

// nodeLabel names the node of an object in observed.yaml.
const nodeLabel = "kanon.dev/node"

// testReader is a cluster that holds some objects.
type testReader struct {
	objects []*unstructured.Unstructured
	// observed are the objects that nodes made, each with nodeLabel.
	observed []*unstructured.Unstructured
	// broken is the id of a lookup that cannot be answered, or observed.<id>.
	broken string
	// asked are the queries, in words.
	asked []string
}

// readerOf is the reader of a case.
func readerOf(t *testing.T, files map[string]string) *testReader {
	t.Helper()
	return &testReader{
		objects: objects(t, files["lookups.yaml"]), observed: objects(t, files["observed.yaml"]),
		broken: strings.TrimSpace(files["broken"]),
	}
}

// turned is the same cluster, that gives everything in the opposite order.
func (r *testReader) turned() *testReader {
	other := &testReader{objects: slices.Clone(r.objects), observed: slices.Clone(r.observed), broken: r.broken}
	slices.Reverse(other.objects)
	slices.Reverse(other.observed)
	return other
}

// Lookup implements Reader.
func (r *testReader) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	namespace := q.Namespace
	if q.AllNamespaces {
		namespace = "*"
	}
	what := fmt.Sprintf("%q", q.Name)
	if q.Name == "" {
		what = "selector " + q.Selector.String()
	}
	r.asked = append(r.asked, strings.TrimSuffix(fmt.Sprintf("%s: %s, %s in %s", q.Lookup, q.GVK.Kind, what, namespace), " in "))
	if q.Lookup == r.broken {
		return nil, errors.New("the objects are still being listed")
	}
	return slices.DeleteFunc(slices.Clone(r.objects), func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() != q.GVK ||
			!q.AllNamespaces && o.GetNamespace() != q.Namespace ||
			q.Name != "" && o.GetName() != q.Name ||
			q.Name == "" && !q.Selector.Matches(labels.Set(o.GetLabels()))
	}), nil
}

// Observed implements Reader.
func (r *testReader) Observed(node string) ([]*unstructured.Unstructured, error) {
	if "observed."+node == r.broken {
		return nil, errors.New("the objects are still being listed")
	}
	return slices.DeleteFunc(slices.Clone(r.observed), func(o *unstructured.Unstructured) bool {
		return o.GetLabels()[nodeLabel] != node
	}), nil
}

// Live implements Reader.
func (r *testReader) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if name := rendered.GetName(); name == r.broken {
		return nil, errors.New("the objects are still being listed")
	}
	i := slices.IndexFunc(r.observed, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().GroupKind() == rendered.GroupVersionKind().GroupKind() &&
			o.GetNamespace() == rendered.GetNamespace() && o.GetName() == rendered.GetName()
	})
	if i < 0 || r.observed[i].GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return r.observed[i], nil
}

// Outdated implements Reader: an annotation says so.
func (r *testReader) Replaced(*unstructured.Unstructured) *unstructured.Unstructured { return nil }

func (r *testReader) Outdated(_ string, _, live *unstructured.Unstructured) bool {
	return live.GetAnnotations()["outdated"] != ""
}

// What the engine must watch is known before the rule runs, as far as the rule says it.
func TestLookups(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, caseFile(t, "lookups", "rule.yaml"))
	var got []string
	for _, l := range p.Lookups {
		selector := "-"
		if l.Selector != nil {
			selector = "{" + l.Selector.String() + "}"
		}
		got = append(got, fmt.Sprintf("%s %s %q %s %v %d", l.ID, l.GVK.Kind, l.Namespace, selector, l.Namespaced, l.Position.Line))
	}
	want := []string{
		`settings ConfigMap "platform" - true 12`,
		`own ConfigMap "" - true 17`,
		`zones ConfigMap "" - true 21`,
		`everything ConfigMap "" {} true 29`,
		`fixed ConfigMap "" {zone=north} true 34`,
		`space Namespace "" - false 38`,
		`unread ConfigMap "" - true 42`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lookups (-want +got):\n%s", diff)
	}
}

// Without a reader there is nothing to find, and so what is read waits.
func TestNoReader(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, caseFile(t, "lookups", "rule.yaml"))
	ev := p.Evaluate(t.Context(), program.Input{Parent: objects(t, caseFile(t, "lookups", "parent.yaml"))[0], Now: time.Unix(0, 0)})
	if batch := ev.Next(); len(batch) != 0 {
		t.Fatalf("there is something to write: %v", batch)
	}
	if got := ev.Result().Nodes[0]; got.State != program.StateWaiting || !got.BlocksPrune {
		t.Errorf("got %+v", got)
	}
}

// The order in which a cluster gives objects changes nothing, whatever is made of
// them.
func TestOrderOfObjects(t *testing.T) {
	t.Parallel()
	for name, files := range casesWith(t, "lookups.yaml", "observed.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs, _ := compileCase(t, files)
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The same order in each run.
			for _, p := range programs {
				reader := readerOf(t, files)
				want := evaluateText(t, p, files, reader)
				for range 20 {
					reader.asked = nil
					random.Shuffle(len(reader.objects), func(i, j int) {
						reader.objects[i], reader.objects[j] = reader.objects[j], reader.objects[i]
					})
					random.Shuffle(len(reader.observed), func(i, j int) {
						reader.observed[i], reader.observed[j] = reader.observed[j], reader.observed[i]
					})
					if got := evaluateText(t, p, files, reader); got != want {
						t.Fatalf("in another order (-want +got):\n%s", cmp.Diff(want, got))
					}
				}
			}
		})
	}
}

// casesWith are the files of the cases that have one of those that are named.
func casesWith(t *testing.T, names ...string) map[string]map[string]string {
	t.Helper()
	found := casesIn(t)
	maps.DeleteFunc(found, func(_ string, files map[string]string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return files[name] != "" })
	})
	if len(found) == 0 {
		t.Fatal("no cases")
	}
	return found
}

// checkUnchanged holds that nobody changed what the reader gave.
func (r *testReader) checkUnchanged(t *testing.T, files map[string]string) {
	t.Helper()
	fresh := readerOf(t, files)
	if diff := cmp.Diff([][]*unstructured.Unstructured{fresh.objects, fresh.observed}, [][]*unstructured.Unstructured{r.objects, r.observed}); diff != "" {
		t.Errorf("the evaluation changed what it only reads:\n%s", diff)
	}
}

package trace_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"kanon.dev/kanon/author/live/trace"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules"
)

var update = flag.Bool("update", false, "rewrite the wanted trees in testdata")

const kanon = "kanon-system"

// now is the time in all tests.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// The marks of the children of two parents, whose UIDs end in 1 and 2.
var marks = strings.NewReplacer(
	"OWN", "C1w6Ug9HSlyNTgAAAAAAAQ", "ANOTHER", "C1w6Ug9HSlyNTgAAAAAAAg",
	"UID1", "0b5c3a52-0f47-4a5c-8d4e-000000000001", "UID2", "0b5c3a52-0f47-4a5c-8d4e-000000000002",
)

// world is a cluster in memory with rules.
type world struct {
	tracer *trace.Tracer
	parent *unstructured.Unstructured
}

// newWorld reads rules, which may have definitions beside them, and objects, the first of which is the parent. change changes what is
// known of the rules.
func newWorld(t *testing.T, rulesText, objectsText string, change func(*trace.Rule)) world {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(rulesText)}}, nil, kinds, rules.Options{Namespace: kanon})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	pairs := []string{}
	for _, p := range checked.Programs {
		pairs = append(pairs, "RULE("+p.Name+")", mark.RuleID(kanon, kanon, p.Name))
	}
	text := marks.Replace(strings.NewReplacer(pairs...).Replace(objectsText))
	objects, err := manifests.Objects([]manifests.File{{Name: "objects.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	lists := map[schema.GroupVersionResource]string{}
	for _, gvk := range kinds.Known() {
		gvr, _ := kinds.Resource(gvk)
		lists[gvr] = gvk.Kind + "List"
	}
	for _, object := range objects {
		all = append(all, object)
	}
	return world{parent: objects[0], tracer: trace.New(trace.Options{
		Client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, all...),
		Kinds:  kinds, Namespace: kanon, Now: func() time.Time { return now },
		Rules: func(_ context.Context, object *unstructured.Unstructured) ([]trace.Rule, error) {
			var all []trace.Rule
			for i, p := range checked.Programs {
				if p.Parent.GVK != object.GroupVersionKind() || !checked.Decoded[i].MaySelect(object, nil) {
					continue
				}
				rule := trace.Rule{Name: p.Name, ID: mark.RuleID(kanon, kanon, p.Name), Program: p}
				if change != nil {
					change(&rule)
				}
				all = append(all, rule)
			}
			return all, nil
		},
	})}
}

// Each file of testdata has rules, objects, the first of which is traced, and the tree.
func TestTrees(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			w := newWorld(t, parts["rule.yaml"], parts["objects.yaml"], changeOf(parts["known"]))
			got := ""
			if root, err := w.tracer.Trace(t.Context(), w.parent); err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = written(t, root, trace.Tree, trace.Style{Now: now})
			}
			if !*update {
				if d := cmp.Diff(parts["tree"], got); d != "" {
					t.Error(d)
				}
				return
			}
			for i := range archive.Files {
				if archive.Files[i].Name == "tree" {
					archive.Files[i].Data = []byte(got)
				}
			}
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// changeOf is what is known of the rules: "held", "suspended", or "no program".
func changeOf(known string) func(*trace.Rule) {
	return func(rule *trace.Rule) {
		switch strings.TrimSpace(known) {
		case "held":
			rule.PruneHeld = true
		case "suspended":
			rule.Suspended, rule.Problems = true, []string{"is suspended"}
		case "no program":
			for _, child := range rule.Program.Children {
				rule.Kinds = append(rule.Kinds, child.GVK)
			}
			rule.Program, rule.Problems = nil, []string{"has a mistake"}
		}
	}
}

func written(t *testing.T, root *trace.Node, format trace.Format, style trace.Style) string {
	t.Helper()
	var out strings.Builder
	if err := root.Write(&out, format, style); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestNoRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, minimal, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}", nil)
	_, err := w.tracer.Trace(t.Context(), w.parent)
	if none, ok := errors.AsType[*trace.NoRuleError](err); !ok || none.Object.Name != "web" {
		t.Errorf("the error is %v, want a NoRuleError", err)
	}
}

const minimal = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: ServiceAccount}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {a: "${parent.metadata.labels.a}"}}
`

// How a parent fares is what Kanon has reported, unless that is old.
func TestReported(t *testing.T) {
	t.Parallel()
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  conditionPrefix: Web
  parent: {apiVersion: v1, kind: ServiceAccount}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}
`
	const child = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop, uid: c, labels: {kanon.dev/rule: RULE(r)}, annotations: {kanon.dev/applied: 2.OWN.hash.seal.value.paths.content.config}}}`
	for name, tc := range map[string]struct {
		conditions string
		child      string
		suspended  bool
		want       trace.State
		note       string
	}{
		"nothing":              {child: child, want: trace.Ready},
		"ready":                {conditions: "{type: WebReady, status: 'True', reason: Ready}", child: child, want: trace.Ready},
		"not ready":            {conditions: "{type: WebReady, status: 'False', reason: Progressing, message: m}", child: child, want: trace.NotReady, note: "WebReady=False: Progressing: m"},
		"stalled":              {conditions: "{type: WebReady, status: 'False', reason: Invalid}, {type: WebStalled, status: 'True'}", child: child, want: trace.Failed, note: "WebReady=False: Invalid"},
		"of another rule":      {conditions: "{type: Ready, status: 'False', reason: Other}", child: child, want: trace.Ready},
		"of an old generation": {conditions: "{type: WebReady, status: 'True', observedGeneration: 1}", child: child, want: trace.Ready, note: "WebReady: is about generation 1: Kanon has not reconciled generation 2 yet"},
		"ready, and no longer": {conditions: "{type: WebReady, status: 'True'}", want: trace.NotReady, note: "Missing: config | Kanon has reported that it is ready, and has not reconciled it since"},
		"ready, and suspended": {conditions: "{type: WebReady, status: 'True'}", suspended: true, want: trace.NotReady, note: "Missing: config | rule r: is suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop, uid: UID1, generation: 2}, status: {conditions: [` + tc.conditions + `]}}`
			if tc.child != "" {
				objects += "\n---\n" + tc.child
			}
			known := ""
			if tc.suspended {
				known = "suspended"
			}
			w := newWorld(t, rule, objects, changeOf(known))
			root, err := w.tracer.Trace(t.Context(), w.parent)
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			for _, n := range root.Notes {
				notes = append(notes, strings.TrimPrefix(n.Path+": "+n.Text, ": "))
			}
			note := strings.Join(notes, " | ")
			if root.State != tc.want || note != tc.note {
				t.Errorf("the state is %s (%s), want %s (%s)", root.State, note, tc.want, tc.note)
			}
		})
	}
}

package rules

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata")

// testKinds are the kinds that the rules in testdata can name, and those that
// definitions add. Kubernetes' own have their schemas.
type testKinds struct {
	defined map[schema.GroupVersionKind]Kind
	schemas openapi.Kinds
	// missing are kinds that rules wait for.
	missing map[schema.GroupVersionKind]program.Absence
}

// define adds the kinds of CustomResourceDefinitions.
func (k *testKinds) define(tb testing.TB, text string) {
	tb.Helper()
	k.defined, k.schemas = map[schema.GroupVersionKind]Kind{}, openapi.Kinds{}
	for _, crd := range objects(tb, text) {
		kinds, err := openapi.FromCRD(crd)
		if err != nil {
			tb.Fatal(err)
		}
		maps.Copy(k.schemas, kinds)
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name, _, _ := unstructured.NestedString(version, "name")
			_, hasStatus, _ := unstructured.NestedMap(version, "subresources", "status")
			gvk := schema.GroupVersionKind{Group: group, Version: name, Kind: kind}
			k.defined[gvk] = Kind{Namespaced: scope != "Cluster", HasStatus: hasStatus}
		}
	}
}

func (k testKinds) Lookup(gvk schema.GroupVersionKind) (Kind, bool) {
	if _, missing := k.missing[gvk]; missing {
		return Kind{}, false
	}
	if kind, ok := k.defined[gvk]; ok {
		return kind, true
	}
	kind, ok := testedKinds()[gvk]
	return kind, ok
}

// unhurried are limits with which no evaluation is stopped because the machine is busy.
var unhurried = program.Limits{Deadline: time.Hour}

// options are those that testdata is compiled with.
func (k testKinds) options() Options {
	return Options{Kinds: k, Schemas: k, Limits: unhurried, AwaitKinds: len(k.missing) > 0}
}

// Schema implements openapi.Schemas. The kinds of the shop can have any fields, where a
// case does not define them.
func (k testKinds) Schema(gvk schema.GroupVersionKind) *openapi.Schema {
	if s := k.schemas.Schema(gvk); s != nil {
		return s
	}
	if _, known := testedKinds()[gvk]; known && len(k.defined) == 0 && gvk.Group == "shop.example.com" {
		return &openapi.Schema{}
	}
	native, err := openapi.BuiltinKinds()
	if err != nil {
		panic(err)
	}
	return native.Schema(gvk)
}

func (k testKinds) Known() []schema.GroupVersionKind {
	known := slices.Concat(slices.Collect(maps.Keys(k.defined)), slices.Collect(maps.Keys(testedKinds())))
	return slices.DeleteFunc(known, func(gvk schema.GroupVersionKind) bool { _, missing := k.missing[gvk]; return missing })
}

// Complete is false for one group whose kinds cannot be known, and for a kind that is
// not certain to be missing.
func (k testKinds) Complete(kind schema.GroupKind) bool {
	for gvk, absence := range k.missing {
		if gvk.GroupKind() == kind && !absence.Certain {
			return false
		}
	}
	return kind.Group != "unknown.example.com"
}
func (testKinds) Place(string) string { return "the cluster" }

// testedKinds are built once: benchmarks of the compiler ask for each kind.
var testedKinds = sync.OnceValue(func() map[schema.GroupVersionKind]Kind {
	out := map[schema.GroupVersionKind]Kind{}
	for name, kind := range map[string]Kind{
		"/v1 ConfigMap":             {Namespaced: true},
		"/v1 Secret":                {Namespaced: true},
		"/v1 Service":               {Namespaced: true, HasStatus: true},
		"/v1 Pod":                   {Namespaced: true, HasStatus: true},
		"/v1 Namespace":             {HasStatus: true},
		"/v1 PersistentVolumeClaim": {Namespaced: true, HasStatus: true},
		"apps/v1 Deployment":        {Namespaced: true, HasStatus: true},
		"batch/v1 Job":              {Namespaced: true, HasStatus: true},
		"rbac.authorization.k8s.io/v1 ClusterRole":    {},
		"rbac.authorization.k8s.io/v1 RoleBinding":    {Namespaced: true},
		"networking.k8s.io/v1 NetworkPolicy":          {Namespaced: true},
		"autoscaling/v2 HorizontalPodAutoscaler":      {Namespaced: true, HasStatus: true},
		"shop.example.com/v1 WebApp":                  {Namespaced: true, HasStatus: true},
		"shop.example.com/v1 Database":                {Namespaced: true, HasStatus: true},
		"shop.example.com/v1 Fleet":                   {HasStatus: true},
		"shop.example.com/v1 Note":                    {Namespaced: true},
		"authorization.k8s.io/v1 SubjectAccessReview": {Verbs: sets.New("create")},
	} {
		apiVersion, k, _ := strings.Cut(name, " ")
		group, version, _ := strings.Cut(apiVersion, "/")
		out[schema.GroupVersionKind{Group: group, Version: version, Kind: k}] = kind
	}
	return out
})

// TestData runs the cases in testdata. Each is an archive of
//
//	rule.yaml     the source of one rule or several
//	unchecked     there and empty where the types of what is read are not checked,
//	              as the case is about what happens when the rule runs
//	confined      the namespace to which the rule is confined
//	crds.yaml     definitions of kinds that the rule names, with their schemas
//	missing       APIVERSION KIND lines: kinds that the cluster does not have, or perhaps
//	              does not have where a third word says so
//	parent.yaml   the parent; without it the case ends with the findings
//	live.yaml     what the cluster adds to objects that were written, by kind and name
//	lookups.yaml  objects that the cluster has besides
//	broken        the id of a lookup that cannot be answered
//	observed.yaml objects that nodes made earlier, each with the label kanon.dev/node
//	refused       KIND NAME lines: objects that cannot be brought up to date
//	findings      what is found (wanted)
//	outcome       what comes out (wanted)
func TestData(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all, points atomic.Int32
	t.Cleanup(func() {
		if all.Load() > 1000 && points.Load()*20 > all.Load() {
			t.Errorf("%d of %d findings are about a point, and not about what is written there", points.Load(), all.Load())
		}
	})
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			for _, f := range runCase(t, path) {
				if all.Add(1); f.Length == 0 {
					points.Add(1) // where something is missing, such as the end of an expression
				}
			}
		})
	}
}

// caseFiles are the files that a case may have.
var caseFiles = []string{
	"rule.yaml", "unchecked", "confined", "crds.yaml", "missing", "parent.yaml", "live.yaml", "lookups.yaml", "broken", "observed.yaml", "refused", "findings", "outcome",
}

func runCase(t *testing.T, path string) diagnostic.Findings {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	for name := range files {
		if !slices.Contains(caseFiles, name) {
			t.Errorf("no case has a file %s", name)
		}
	}
	programs, findings := compileCase(t, files)
	checkPlaces(t, findings)
	got := map[string]string{"findings": findingsText(findings)}
	if files["parent.yaml"] != "" {
		var out strings.Builder
		for _, p := range programs {
			reader := readerOf(t, files)
			text := evaluateText(t, p, files, reader)
			reader.checkUnchanged(t, files)
			if again := evaluateText(t, p, files, reader.turned()); again != text {
				t.Errorf("a second evaluation, with what is read in another order, gives something else:\n%s", cmp.Diff(text, again))
			}
			out.WriteString(text)
		}
		if out.Len() == 0 {
			t.Error("nothing is evaluated: the rule is not accepted, or has nothing to show; drop parent.yaml if that is the case")
		}
		got["outcome"] = out.String()
	}
	if *update {
		rewrite(t, path, archive, got)
		return findings
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if diff := cmp.Diff(files[name], got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	return findings
}

// compileCase compiles the rules of a case.
func compileCase(t *testing.T, files map[string]string) ([]*program.Program, diagnostic.Findings) {
	t.Helper()
	kinds := testKinds{}
	kinds.define(t, files["crds.yaml"])
	kinds.missing = missingKinds(t, files["missing"])
	o := kinds.options()
	if _, unchecked := files["unchecked"]; unchecked {
		o.Schemas = nil
	}
	if confined := strings.TrimSpace(files["confined"]); confined != "" {
		o.Namespace, o.Confined = confined, true
	}
	return compileAll("rule.yaml", []byte(files["rule.yaml"]), o)
}

// missingKinds reads the file missing of a case.
func missingKinds(t *testing.T, text string) map[schema.GroupVersionKind]program.Absence {
	t.Helper()
	var missing map[schema.GroupVersionKind]program.Absence
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			t.Fatalf("the file missing has the line %q", line)
		}
		if missing == nil {
			missing = map[schema.GroupVersionKind]program.Absence{}
		}
		missing[schema.FromAPIVersionAndKind(words[0], words[1])] = program.Absence{
			Certain: len(words) == 2, Message: "the cluster has no kind " + words[1] + " in " + words[0],
		}
	}
	return missing
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "findings" && f.Name != "outcome" {
			kept = append(kept, f)
		}
	}
	archive.Files = kept
	for _, name := range []string{"findings", "outcome"} {
		if got[name] != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	data := txtar.Format(archive)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// compileAll decodes a source and compiles what is in it.
func compileAll(name string, data []byte, o Options) ([]*program.Program, diagnostic.Findings) {
	docs, findings := syntax.Decode(name, data)
	var programs []*program.Program
	for _, r := range slices.Concat(docs.Rules, docs.Partial) {
		p, more := Compile(r, o)
		findings = append(findings, more...)
		if p != nil {
			programs = append(programs, p)
		}
	}
	return programs, findings.Sorted()
}

// checkPlaces holds that what a finding underlines lies in its line, and that a finding about a name stands at the name.
func checkPlaces(t *testing.T, findings diagnostic.Findings) {
	t.Helper()
	about := regexp.MustCompile(`^(?:unknown (?:name|function|field)|duplicate field|there is no (?:child|variable|lookup) called) "(.+?)"`)
	for _, f := range findings {
		if f.Column > 0 && f.Column-1+f.Length > utf8.RuneCountInString(f.Text) {
			t.Errorf("%s: %d characters are not in %q", f, f.Length, f.Text)
		}
		m := about.FindStringSubmatch(f.Message)
		if m == nil {
			continue
		}
		rest := ""
		if runes := []rune(f.Text); f.Column <= len(runes) {
			rest = strings.TrimLeft(string(runes[f.Column-1:]), `"'`)
		}
		if !strings.HasPrefix(rest, m[1]) {
			t.Errorf("%s: at its place stands %q", f, rest)
		}
	}
}

func findingsText(findings diagnostic.Findings) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// evaluateText evaluates a rule to the end and writes down what happened.
func evaluateText(t *testing.T, p *program.Program, files map[string]string, reader *testReader) string {
	t.Helper()
	var b strings.Builder
	parent := objects(t, files["parent.yaml"])[0]
	before := parent.DeepCopy()
	ev := p.Evaluate(t.Context(), program.Input{Parent: parent, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reader: reader, Finalizing: p.Finalize != nil && parent.GetDeletionTimestamp() != nil, Missing: missingKinds(t, files["missing"])})
	matches, err := ev.Matches()
	if err != nil {
		fmt.Fprintf(&b, "matches: %v\n", err)
	}
	if !matches {
		fmt.Fprintln(&b, "does not match")
		return b.String()
	}
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for i, r := range batch {
			if i == 0 {
				fmt.Fprintln(&b, "--- batch")
			}
			partial := ""
			if r.Partial {
				partial = ", partial"
			}
			fmt.Fprintf(&b, "%s: %d objects%s\n", r.Node, len(r.Objects), partial)
			live := make([]*unstructured.Unstructured, len(r.Objects))
			for j, o := range r.Objects {
				if recreation := map[program.Recreation]string{
					program.RecreationDue: "to be created again", program.RecreationExpired: "to be created again, by time", program.RecreationForbidden: "not to be created again",
				}[r.Recreation(j)]; recreation != "" {
					fmt.Fprintf(&b, "  %s:\n", recreation)
				}
				if r.Repairs(j) {
					fmt.Fprintln(&b, "  only repaired:")
				}
				b.WriteString(indented(t, o.Object))
				for _, path := range r.Fresh(j) {
					fmt.Fprintf(&b, "  generated, where it is missing: %s\n", strings.Join(path, "."))
				}
				if d := ev.Ending(o); d != (program.Ending{WhenPruned: syntax.EndDelete, WhenDeleted: syntax.EndDelete}) {
					fmt.Fprintf(&b, "  when pruned: %s, when deleted: %s\n", d.WhenPruned, d.WhenDeleted)
				}
				for _, path := range ev.Ignores(o) {
					fmt.Fprintf(&b, "  left to others: %s\n", path)
				}
				live[j] = liveObject(t, o, files)
			}
			for _, o := range r.Kept {
				fmt.Fprintf(&b, "  kept: %s\n", nameOf(o))
			}
			for _, awaiting := range r.Awaiting {
				fmt.Fprintf(&b, "  awaiting: %s\n", nameOf(awaiting.Object))
			}
			for _, o := range r.Postponed {
				fmt.Fprintf(&b, "  held: %s\n", nameOf(o))
			}
			ev.Applied(r.Node, live)
		}
	}
	writeResult(t, &b, ev.Result())
	for i, query := range reader.asked {
		if i == 0 {
			fmt.Fprintln(&b, "--- asked")
		}
		fmt.Fprintln(&b, query)
	}
	if diff := cmp.Diff(before, parent); diff != "" {
		t.Errorf("the evaluation changed the parent:\n%s", diff)
	}
	return b.String()
}

func writeResult(t *testing.T, b *strings.Builder, out program.Result) {
	t.Helper()
	if len(out.Nodes) > 0 {
		fmt.Fprintln(b, "--- nodes")
	}
	if f := out.Finalization; f != (program.Finalization{}) {
		fmt.Fprintf(b, "finalization: done %t, failed %t, timeout %s: %s\n", f.Done, f.Failed, f.Timeout, f.Waits)
	}
	for _, n := range out.Nodes {
		fmt.Fprintf(b, "%s: %s", n.ID, n.State)
		if n.Ready {
			b.WriteString(", ready")
		}
		if n.BlocksPrune {
			b.WriteString(", no pruning")
		}
		if n.KindMissing {
			b.WriteString(", kind missing")
		}
		if n.Stalled {
			b.WriteString(", stalled")
		}
		if n.Path != "" {
			b.WriteString(": " + n.Path)
		}
		if n.Message != "" {
			b.WriteString(": " + n.Text())
		}
		b.WriteString("\n")
	}
	writePatches(t, b, out.Patches)
	if out.Status != nil {
		fmt.Fprintln(b, "--- status")
		b.WriteString(indented(t, out.Status))
	}
	if out.KeepStatus {
		fmt.Fprintln(b, "--- status is held")
	}
	writeSaid(b, out)
	for _, w := range out.StatusWaiting {
		fmt.Fprintf(b, "waits: %s\n", w)
	}
	for _, f := range out.StatusFailed {
		fmt.Fprintf(b, "failed: %s: %s\n", f.Path, f.Text())
	}
}

// writePatches writes down what patches set, and what of it is not known.
func writePatches(t *testing.T, b *strings.Builder, patches []program.PatchResult) {
	t.Helper()
	if len(patches) > 0 {
		fmt.Fprintln(b, "--- patches")
	}
	for _, p := range patches {
		fmt.Fprintf(b, "%s: %s", p.ID, p.State)
		if p.Unknown {
			b.WriteString(", not all targets are known")
		}
		if p.KindMissing {
			b.WriteString(", kind missing")
		}
		if p.Path != "" {
			b.WriteString(": " + p.Path)
		}
		if p.Message != "" {
			b.WriteString(": " + p.Text())
		}
		b.WriteString("\n")
		for _, c := range p.Contributions {
			where := c.Target.Namespace + "/" + c.Target.Name
			if c.Target.AllNamespaces {
				where = "*/"
			}
			if c.Target.Name == "" {
				where += "{" + c.Target.Selector.String() + "}"
			}
			fmt.Fprintf(b, "%s:\n", where)
			if c.Object == nil {
				b.WriteString("  not known\n")
				continue
			}
			b.WriteString(indented(t, c.Object.Object))
		}
	}
}

// writeSaid writes down what the rule says besides the status.
func writeSaid(b *strings.Builder, out program.Result) {
	for i, c := range out.Conditions {
		if i == 0 {
			fmt.Fprintln(b, "--- conditions")
		}
		if c.Keep {
			fmt.Fprintf(b, "%s: held\n", c.Type)
			continue
		}
		fmt.Fprintf(b, "%s: %s, %s: %q\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for i, e := range out.Events {
		if i == 0 {
			fmt.Fprintln(b, "--- events")
		}
		switch e.State {
		case program.EventUnknown:
			fmt.Fprintf(b, "%d: unknown\n", i)
		case program.EventOff:
			fmt.Fprintf(b, "%d: off\n", i)
		case program.EventOn:
			fmt.Fprintf(b, "%d: %s, %s: %q\n", i, e.Type, e.Reason, e.Message)
		}
	}
	switch out.Deletion {
	case program.DeletionOff:
	case program.DeletionUnknown:
		b.WriteString("--- it is not known whether the parent is to be deleted\n")
	case program.DeletionOn:
		b.WriteString("--- the parent is to be deleted\n")
	}
	if out.RequeueAfter > 0 {
		fmt.Fprintf(b, "--- again in %s\n", out.RequeueAfter)
	}
	if out.MinInterval > 0 {
		fmt.Fprintf(b, "--- at most once in %s\n", out.MinInterval)
	}
}

func indented(t *testing.T, val any) string {
	t.Helper()
	data, err := yaml.Marshal(val)
	if err != nil {
		t.Fatal(err)
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n  ") + "\n"
}

// liveObject is what the cluster makes of an object: the object with what
// live.yaml says of it, or nil where it is refused.
func liveObject(t *testing.T, o *unstructured.Unstructured, files map[string]string) *unstructured.Unstructured {
	t.Helper()
	for line := range strings.SplitSeq(files["refused"], "\n") {
		if line == o.GetKind()+" "+o.GetName() {
			return nil
		}
	}
	live := o.DeepCopy()
	for _, add := range objects(t, files["live.yaml"]) {
		if add.GetKind() == o.GetKind() && add.GetName() == o.GetName() {
			overlay(live.Object, add.Object)
		}
	}
	return live
}

func overlay(to, from map[string]any) {
	for k, v := range from {
		if inner, ok := v.(map[string]any); ok {
			if old, ok := to[k].(map[string]any); ok {
				overlay(old, inner)
				continue
			}
		}
		to[k] = v
	}
}

func objects(tb testing.TB, text string) []*unstructured.Unstructured {
	tb.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		data, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			tb.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			tb.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// nameOf is the kind and the name of an object.
func nameOf(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q", o.GetKind(), path.Join(o.GetNamespace(), o.GetName()))
}

package trace_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/live/trace"
)

// sample has each thing that formats show.
func sample() *trace.Node {
	return &trace.Node{
		Role: trace.Parent, APIVersion: "example.com/v1", Kind: "Shop", Namespace: "a", Name: "corner", UID: "1", Rules: []string{"shop"},
		State: trace.NotReady, Created: now.Add(-time.Hour),
		Notes: []trace.Note{{Source: trace.FromCondition, Path: "Ready=False", Text: "Waiting: child b waits for what does not exist yet", Since: now.Add(-5 * time.Minute)}},
		Children: []*trace.Node{
			{Role: trace.Lookup, APIVersion: "v1", Kind: "Secret", Namespace: "b", Name: "settings", Rule: "shop", ID: "settings", State: trace.Found},
			{
				Role: trace.Child, APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web", UID: "2", Rule: "shop", ID: "web", State: trace.Failed,
				Notes:    []trace.Note{{Source: trace.FromEvent, Path: "Boo", Text: "it \x1b[31mfailed\nbadly", Count: 3, Since: now.Add(-time.Minute)}},
				Children: []*trace.Node{{Role: trace.Owned, APIVersion: "v1", Kind: "Pod", Namespace: "a", Name: "web-1", UID: "3", State: trace.Ready}},
			},
			{Role: trace.Patch, APIVersion: "v1", Kind: "Node", Selector: "zone=a", Rule: "shop", ID: "tag", State: trace.Skipped},
		},
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format trace.Format
		style  trace.Style
		want   string
	}{
		"tree": {trace.Tree, trace.Style{}, `
NAME                           STATE      AGE   RULE   ID
Shop/corner                    NotReady   60m   shop
│     Ready=False: Waiting: child b waits for what does not exist yet (for 5m)
├── lookup Secret/settings (b) Found      -     shop   settings
├── Deployment/web             Failed     -     shop   web
│   │     event Boo: it  [31mfailed badly (3 times, 60s ago)
│   └── Pod/web-1              Ready      -
└── patch Node zone=a          Skipped    -     shop   tag
`},
		"narrow": {trace.Tree, trace.Style{Width: 40}, `
NAME                           STATE      AGE   RULE   ID
Shop/corner                    NotReady   60m   shop
│     Ready=False: Waiting: child b
│     waits for what does not exist yet
│     (for 5m)
├── lookup Secret/settings (b) Found      -     shop   settings
├── Deployment/web             Failed     -     shop   web
│   │     event Boo: it [31mfailed badly
│   │     (3 times, 60s ago)
│   └── Pod/web-1              Ready      -
└── patch Node zone=a          Skipped    -     shop   tag
`},
		"wide": {trace.Wide, trace.Style{}, `
NAMESPACE   NAME                     STATE      AGE   RULE   ID         APIVERSION       WHY
a           Shop/corner              NotReady   60m   shop              example.com/v1   Ready=False: Waiting: child b waits for what does not exist yet (for 5m)
b           ├── lookup Secret/settings Found    -     shop   settings   v1
a           ├── Deployment/web       Failed     -     shop   web        apps/v1          event Boo: it  [31mfailed badly (3 times, 60s ago)
a           │   └── Pod/web-1        Ready      -                       v1
            └── patch Node zone=a    Skipped    -     shop   tag        v1
`},
		"mermaid": {trace.Mermaid, trace.Style{}, `
flowchart LR
  n0[/"Shop/corner<br>NotReady: Ready=False: Waiting: child b waits for what does not exist yet"\]
  n1[("lookup Secret/settings (b)<br>Found")]
  n2["Deployment/web<br>Failed: event Boo: it  [31mfailed badly"]
  n3["Pod/web-1<br>Ready"]
  n4{{"patch Node zone=a<br>Skipped"}}
  n1 --> n0
  n0 --> n2
  n2 --> n3
  n0 --> n4
`},
		"dot": {trace.Dot, trace.Style{}, `
digraph "Shop/corner" {
  rankdir=LR;
  node [fontname="sans-serif"];
  "n0" [shape=house, label="Shop/corner\nNotReady: Ready=False: Waiting: child b waits for what does not exist yet"];
  "n1" [shape=note, label="lookup Secret/settings (b)\nFound"];
  "n2" [shape=box, label="Deployment/web\nFailed: event Boo: it  [31mfailed badly"];
  "n3" [shape=box, label="Pod/web-1\nReady"];
  "n4" [shape=component, label="patch Node zone=a\nSkipped"];
  "n1" -> "n0";
  "n0" -> "n2";
  "n2" -> "n3";
  "n0" -> "n4";
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.style.Now = now
			got := written(t, sample(), tc.format, tc.style)
			if d := cmp.Diff(squeezed(strings.TrimPrefix(tc.want, "\n")), squeezed(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// squeezed has one space where columns have several: which columns there are matters here, and not how wide they are.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// Columns are as wide as their widest cell, colours or not.
func TestColumns(t *testing.T) {
	t.Parallel()
	plain := written(t, sample(), trace.Tree, trace.Style{Now: now})
	colored := written(t, sample(), trace.Tree, trace.Style{Now: now, Color: true})
	if !strings.Contains(colored, "\x1b[31mFailed\x1b[0m ") || !strings.Contains(colored, "\x1b[32mReady\x1b[0m ") {
		t.Errorf("the states have no colours: %q", colored)
	}
	without := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(colored)
	if d := cmp.Diff(plain, without); d != "" {
		t.Error("colours move columns:", d)
	}
	if strings.Contains(plain, "\x1b") {
		t.Error("the text of an object reaches the terminal:", plain)
	}
	lines := strings.Split(plain, "\n")
	at := strings.Index(lines[0], "STATE")
	for _, want := range []string{"NotReady", "Skipped"} {
		for _, line := range lines[1:] {
			if runes := []rune(line); strings.Contains(line, want) && string(runes[at:at+len(want)]) != want {
				t.Errorf("%s is not below STATE in %q", want, line)
			}
		}
	}
}

// What programs read has everything, and both formats the same.
func TestEncoded(t *testing.T) {
	t.Parallel()
	var fromJSON, fromYAML trace.Node
	if err := json.Unmarshal([]byte(written(t, sample(), trace.JSON, trace.Style{})), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(written(t, sample(), trace.YAML, trace.Style{})), &fromYAML); err != nil {
		t.Fatal(err)
	}
	plain := cmp.Comparer(func(a, b trace.Note) bool {
		return a.Path == b.Path && a.Text == b.Text && a.Since.Equal(b.Since) && a.Count == b.Count
	})
	if d := cmp.Diff(sample(), &fromJSON, plain); d != "" {
		t.Error("JSON:", d)
	}
	if d := cmp.Diff(sample(), &fromYAML, plain); d != "" {
		t.Error("YAML:", d)
	}
}

func TestNoFormat(t *testing.T) {
	t.Parallel()
	if err := sample().Write(&strings.Builder{}, "svg", trace.Style{}); err == nil || !strings.Contains(err.Error(), "choose one of tree, wide") {
		t.Error(err)
	}
}

// No format shows what a Secret has in it, wherever it is in the tree.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"children", "inputs", "nested"} {
		archive, err := txtar.ParseFile("testdata/" + file + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		for _, f := range archive.Files {
			parts[f.Name] = string(f.Data)
		}
		if !strings.Contains(parts["objects.yaml"], "dG9wc2VjcmV0") {
			t.Errorf("%s has no Secret", file)
		}
		w := newWorld(t, parts["rule.yaml"], parts["objects.yaml"], nil)
		root, err := w.tracer.Trace(t.Context(), w.parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range trace.Formats() {
			text := written(t, root, trace.Format(format), trace.Style{Now: now})
			if strings.Contains(text, "dG9wc2VjcmV0") || strings.Contains(text, "topsecret") {
				t.Errorf("%s of %s has the value of a Secret:\n%s", format, file, text)
			}
		}
	}
}

// Of many objects of one kind of which there is nothing to say, one line tells how many there are.
func TestFolded(t *testing.T) {
	t.Parallel()
	root := &trace.Node{Role: trace.Parent, Kind: "WebApp", Name: "front", State: trace.NotReady}
	set := &trace.Node{Role: trace.Owned, APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "front", State: trace.Ready}
	root.Children = []*trace.Node{set, {Role: trace.Child, APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Name: "p", State: trace.Ready, Rule: "web", ID: "policy"}}
	pod := func(name string, state trace.State) {
		set.Children = append(set.Children, &trace.Node{Role: trace.Owned, APIVersion: "v1", Kind: "Pod", Name: name, State: state})
	}
	for name := range strings.FieldsSeq("a b c d e f g") {
		pod(name, trace.Ready)
	}
	pod("h", trace.NotReady)
	for name := range strings.FieldsSeq("i j k l m") { // those after it count, too
		pod(name, trace.Ready)
	}
	set.Children[3].Notes = []trace.Note{{Source: trace.FromEvent, Text: "is pulled"}} // d, of which there is something to say
	for all, want := range map[bool]string{
		true:  "a b c d e f g h i j k l m",
		false: "a b c d (and 8 more ready Pods) h",
	} {
		var out strings.Builder
		if err := root.Write(&out, trace.Tree, trace.Style{All: all}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(out.String()), " "); got != want {
			t.Errorf("all %t: %s, want %s", all, got, want)
		}
	}
	set.Children[3].Notes = nil
	for all, want := range map[bool]string{
		true:  "a b c d e f g h i j k l m",
		false: "a b c (and 9 more ready Pods) h",
	} {
		var out strings.Builder
		if err := root.Write(&out, trace.Wide, trace.Style{All: all}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(out.String()), " "); got != want {
			t.Errorf("all %t: %s, want %s\n%s", all, got, want, out.String())
		}
	}
	var out strings.Builder
	if err := root.Write(&out, trace.JSON, trace.Style{}); err != nil || strings.Count(out.String(), `"Pod"`) != 13 {
		t.Errorf("%v: programs get each object:\n%s", err, out.String())
	}
}

// names are those of the Pods in a tree, and what stands for others.
func names(tree string) (all []string) {
	for _, m := range regexp.MustCompile(`Pod/(\w+)|… (and \d+ more ready \w+)`).FindAllStringSubmatch(tree, -1) {
		if m[2] != "" {
			m[1] = "(" + m[2] + ")"
		}
		all = append(all, m[1])
	}
	return all
}

package language_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

var update = flag.Bool("update", false, "rewrite deploy/base/crd.yaml")

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

const definition = "../../deploy/base/crd.yaml"

// TestDefinition holds deploy/base/crd.yaml current.
func TestDefinition(t *testing.T) {
	t.Parallel()
	is, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := language.Define(is)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(definition, wanted, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(wanted), string(is)); diff != "" {
		t.Errorf("%s is not current; run make crd (-want +got):\n%s", definition, diff)
	}
}

func TestDefineNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: [", "spec: {versions: []}"} {
		if _, err := language.Define([]byte(text)); err == nil {
			t.Errorf("%q is taken for a definition", text)
		}
	}
}

// document is a rule in a file.
type document struct {
	where string
	root  any
}

// validRules are the rules without errors of decoding in testdata, in the examples and on the pages.
func validRules(t *testing.T) []document {
	t.Helper()
	var texts []document
	add := func(where string, data []byte) { texts = append(texts, document{where: where, root: data}) }
	for _, dir := range []string{"../../rules/testdata", "../../examples", "../../author/manifests/template", "../../deploy", "../../docs"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			data, readErr := os.ReadFile(path)
			switch filepath.Ext(path) {
			case ".txtar":
				for _, file := range txtar.Parse(data).Files {
					add(path+":"+file.Name, file.Data)
				}
			case ".yaml":
				add(path, data)
			case ".md":
				for i, block := range strings.Split(string(data), "```yaml rule\n")[1:] {
					block, _, _ = strings.Cut(block, "```")
					if !strings.HasPrefix(block, "apiVersion") {
						block = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: example}\nspec:\n" + indented(block)
						if !strings.Contains(block, "\n  parent:") {
							block += "\n  parent: {apiVersion: v1, kind: ConfigMap}\n"
						}
					}
					add(fmt.Sprintf("%s, rule %d", path, i), []byte(block))
				}
			default:
				return nil
			}
			return readErr
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var rules []document
	for _, text := range texts {
		for _, root := range rulesIn(text.where, text.root.([]byte)) {
			rules = append(rules, document{where: text.where, root: root})
		}
	}
	if len(rules) < 200 {
		t.Fatalf("only %d rules were found", len(rules))
	}
	return rules
}

// rulesIn are the rules of a text that are decoded without errors, as JSON has them.
func rulesIn(name string, data []byte) []any {
	var found []any
	src := yamltree.New(name, data)
	for _, doc := range src.Documents() {
		nodes, finding := src.Parse(doc)
		if finding != nil {
			continue
		}
		decoded, findings := syntax.Decode(name, []byte(strings.Join(src.LinesOf(doc), "\n")))
		if findings.HasErrors() || len(decoded.Rules) == 0 {
			continue
		}
		for _, n := range nodes {
			root := src.Build(n, nil)
			if kind, _ := root.Get("kind").Text(); kind == language.Kind {
				found = append(found, root.Plain())
			}
		}
	}
	return found
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// compiled is the JSON Schema, which is checked against draft 7 itself.
func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(language.JSONSchema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rule.json", doc); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("rule.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// asJSON is a value as a JSON parser gives it.
func asJSON(tb testing.TB, value any) any {
	tb.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return plain
}

func TestEditorsTakeEveryRule(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, rule := range validRules(t) {
		if err := s.Validate(asJSON(t, rule.root)); err != nil {
			t.Errorf("%s: %v", rule.where, err)
		}
	}
}

func TestEditorsPassOver(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for text, want := range map[string]bool{
		`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {}}`:        true,
		`{"apiVersion": "kanon.dev/v1alpha1", "kind": "RuleTest", "cases": []}`:                            true,
		`{"apiVersion": "kanon.dev/v1alpha1", "kind": "Rules", "metadata": {"name": "a"}, "spec": {}}`:     false,
		`{"apiVersion": "kanon.dev/v1alpha1", "metadata": {"name": "a"}, "spec": {"parent": {}}}`:          false,
		`{"kind": "Rule", "metadata": {"name": "a"}, "spec": {"parent": {"apiVersion": "v1", "kind": 1}}}`: false,
	} {
		if err := s.Validate(asJSON(t, json.RawMessage(text))); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSchemaAndDecoderAgree puts values of every form into every field. What the schema refuses, the decoder refuses; and what
// the decoder refuses because of its form, the schema refuses.
func TestSchemaAndDecoderAgree(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	values := []any{nil, true, int64(1), int64(-1), 0.5, "text", "${true}", "1h", "25%", []any{}, []any{"text"}, []any{int64(1)}, []any{map[string]any{}}, map[string]any{}, map[string]any{"a": "b"}, map[string]any{"a": int64(1)}}
	eachField(language.Document(), nil, func(path []string, field *language.Field) {
		if len(path) == 1 && field.Name != "spec" && field.Name != "metadata" {
			return // apiVersion and kind say which schema it is
		}
		values := slices.Clone(values)
		for _, form := range field.Type.Forms() {
			for _, word := range form.Words {
				values = append(values, word)
			}
		}
		for _, value := range values {
			rule := with(path, value)
			text, err := json.Marshal(rule)
			if err != nil {
				t.Fatal(err)
			}
			accepted := s.Validate(asJSON(t, rule)) == nil
			_, findings := syntax.Decode("rule.json", text)
			decoded := !findings.HasErrors()
			if decoded && !accepted {
				t.Errorf("%s: the decoder takes %v, and the schema does not", strings.Join(path, "."), value)
			}
			if accepted && !decoded && !isAboutContent(findings[0]) {
				t.Errorf("%s: the schema takes %v, and the decoder does not: %v", strings.Join(path, "."), value, findings[0])
			}
		}
	})
}

// isAboutContent reports whether a message is about what a schema cannot say: what a name is made of, what is empty, what belongs together.
func isAboutContent(f diagnostic.Finding) bool {
	if f.Code == diagnostic.CodeShortType || f.Code == diagnostic.CodeKindSchema {
		return true
	}
	for _, part := range []string{
		"is empty", "not a name", "cannot contain an expression", "cannot be used in expressions", "must be VERSION", "cannot be the id of a patch", "has neither name nor selector", "has both name and selector",
		"must be at least", "not a type that conditions", "must be one word", "must be letters and digits", "is the name of something else", "is a word of CEL", "Invalid value", "not a valid", "needs", "must be a duration",
		"a valid label", "selector:",
	} {
		if strings.Contains(f.Message, part) {
			return true
		}
	}
	return false
}

// eachField visits the fields below a type. An item of a list is the step 0.
func eachField(t *language.Type, path []string, visit func(path []string, f *language.Field)) {
	for _, form := range t.Forms() {
		for i := range form.Fields {
			below := append(slices.Clip(path), form.Fields[i].Name)
			visit(below, &form.Fields[i])
			eachField(&form.Fields[i].Type, below, visit)
		}
		if form.Items != nil {
			eachField(form.Items, append(slices.Clip(path), "0"), visit)
		}
	}
}

// with is the smallest rule that has a value at a path.
func with(path []string, value any) any {
	return put(language.Document(), path, value)
}

func put(t *language.Type, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	for _, form := range t.Forms() {
		switch {
		case form.Form == language.List && path[0] == "0":
			return []any{put(form.Items, path[1:], value)}
		case form.Form == language.Mapping && form.Fields.Field(path[0]) != nil:
			m := map[string]any{}
			for i := range form.Fields {
				f := &form.Fields[i]
				if f.Name == path[0] {
					m[f.Name] = put(&f.Type, path[1:], value)
				} else if f.Required {
					m[f.Name] = sample(f)
				}
			}
			if form.Fields.Field("selector") != nil && form.Fields.Field("id") != nil && path[0] != "selector" && path[0] != "name" {
				m["name"] = "one"
			}
			return m
		}
	}
	panic(path)
}

// sample is a value that a required field may have.
func sample(f *language.Field) any {
	t := f.Type
	switch {
	case f.Name == "apiVersion" && len(t.Words) == 0:
		return "example.com/v1"
	case f.Name == "name" && t.Form == language.Text:
		return "v1" // of a version too
	case len(t.Words) > 0:
		return t.Words[0]
	case t.Form == language.Mapping:
		m := map[string]any{}
		for i := range t.Fields {
			if t.Fields[i].Required {
				m[t.Fields[i].Name] = sample(&t.Fields[i])
			}
		}
		return m
	case t.Form == language.List:
		return []any{}
	case t.Form == language.Object:
		return map[string]any{"a": "b"}
	case t.Expressions == language.Required:
		return "${true}"
	default:
		return "some"
	}
}

// TestServerTakesEveryRule sends every rule to an API server that has the definition: it takes each as it is, and says what is
// misspelt.
func TestServerTakesEveryRule(t *testing.T) {
	t.Parallel()
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	text, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, config)
	cluster.Apply(kanontest.Object(t, string(text)))
	cluster.Await(kanontest.Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "rules.kanon.dev"), func(live *unstructured.Unstructured) error {
		if status := kanontest.ConditionStatus(live, "Established"); status != "True" {
			return fmt.Errorf("Established is %q", status)
		}
		return nil
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	rules := client.Resource(schema.GroupVersionResource{Group: "kanon.dev", Version: "v1alpha1", Resource: "rules"}).Namespace(namespace)
	send := func(root any) (*unstructured.Unstructured, error) {
		object := &unstructured.Unstructured{Object: asMap(t, root)}
		object.SetNamespace(namespace)
		return rules.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, rule := range validRules(t) {
		group.Go(func() error {
			stored, err := send(rule.root)
			if err != nil {
				t.Errorf("%s: %v", rule.where, err)
				return nil
			}
			if diff := cmp.Diff(asMap(t, rule.root)["spec"], stored.Object["spec"]); diff != "" {
				t.Errorf("%s: the API server changes it (-sent +stored):\n%s", rule.where, diff)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for where, spec := range map[string]string{
		"spec.patchs":                       `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "patchs": []}`,
		"spec.parent.selektor":              `{"parent": {"apiVersion": "v1", "kind": "ConfigMap", "selektor": {}}}`,
		"spec.children[0].dependOn":         `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a", "template": {}, "dependOn": []}]}`,
		"spec.children[0].forEach[0].in":    `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a", "template": {}, "forEach": [{"name": "b", "on": []}]}]}`,
		"spec.patches[0].forEach[0].on":     `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "patches": [{"id": "a", "template": {}, "forEach": [{"name": "b", "in": [], "on": []}]}]}`,
		"spec.finalize.children[0].redy":    `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "finalize": {"children": [{"id": "a", "template": {}, "redy": "x"}]}}`,
		"spec.children[0].updatePolicy":     `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a", "template": {}, "updatePolicy": "aply"}]}`,
		"spec.children[0].template":         `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a"}]}`,
		"spec.children[0].when":             `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a", "template": {}, "when": "true"}]}`,
		"spec.pruneLimit":                   `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "pruneLimit": "ten"}`,
		"spec.requeueAfter":                 `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "requeueAfter": "soon"}`,
		"spec.children[0].rollout.maxUnava": `{"parent": {"apiVersion": "v1", "kind": "ConfigMap"}, "children": [{"id": "a", "template": {}, "rollout": {"maxUnava": 1}}]}`,
	} {
		rule := map[string]any{"apiVersion": language.APIVersion, "kind": language.Kind, "metadata": map[string]any{"name": "a"}, "spec": json.RawMessage(spec)}
		_, err := send(rule)
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), where) {
			t.Errorf("a mistake in %s gives %v", where, err)
		}
	}
	for path, want := range map[string]string{
		"rule.spec":                                             "The objects that the rule is for.",
		"rule.spec.children.dependsOn":                          "Ids of children that must be ready first.",
		"rule.spec.children.forEach.sameAs":                     "The id of the child whose items this one has too.",
		"rule.spec.finalize.children.deletionPolicy.whenPruned": "What happens to the object when the rule no longer renders it.",
	} {
		explain := exec.CommandContext(t.Context(), controlplanetest.Kubectl(t), "--kubeconfig", controlplanetest.Kubeconfig(t), "explain", path)
		output, err := explain.CombinedOutput()
		if text := strings.Join(strings.Fields(string(output)), " "); err != nil || !strings.Contains(text, want) {
			t.Errorf("kubectl explain %s: %v\n%s", path, err, output)
		}
	}
}

func asMap(tb testing.TB, value any) map[string]any {
	tb.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		tb.Fatal(err)
	}
	return u.Object
}

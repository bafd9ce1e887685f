package definitions_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/restmapping/definitions"
)

// keeperWalls is a definition with metadata, and a spec with these fields.
func keeperWalls(t *testing.T, metadata, scope, fields string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: walls.example.com"+metadata+"}, "+
		"spec: {group: example.com, scope: "+scope+", names: {kind: Wall, plural: walls}, versions: [{name: v1, served: true, storage: true, "+
		"schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {"+fields+"}}}}}}]}, "+
		"status: {storedVersions: [v1], conditions: [{type: Established, status: 'True'}]}}")
}

// cluster has a definition, or nil, and objects, or an error for them.
type cluster struct {
	definition *unstructured.Unstructured
	objects    []*unstructured.Unstructured
	err        error
	listed     bool
	// hidden is true if nobody may read the definition.
	hidden bool
}

func (c *cluster) Definition(_ context.Context, name string) (*unstructured.Unstructured, error) {
	if c.hidden {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, name, nil)
	}
	if c.definition == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, name)
	}
	return c.definition, nil
}

func (c *cluster) Objects(_ context.Context, _ *definitions.Comparison, f func(*unstructured.Unstructured) error) error {
	c.listed = true
	for _, object := range c.objects {
		if err := f(object); err != nil {
			return err
		}
	}
	return c.err
}

// Who made a definition, and what it has, decides what is done.
func TestPrepare(t *testing.T) {
	t.Parallel()
	const (
		color, both = "color: {type: string}", "color: {type: string}, size: {type: integer}"
		managed     = ", managedFields: [{manager: kanon-definitions, operation: Apply}]"
		ours        = ", uid: u, resourceVersion: '7', annotations: {kanon.dev/definition: old, kanon.dev/keeper: kanon/wall}" + managed
		current     = ", uid: u, annotations: {kanon.dev/definition: new, kanon.dev/keeper: kanon/wall}" + managed
	)
	for name, c := range map[string]struct {
		metadata, scope, fields string // of the definition in the cluster; without fields there is none
		wanted                  string // the fields that are wanted
		change                  func(*definitions.Wanted, *cluster)
		want                    string
	}{
		"none":                               {wanted: color, want: "create"},
		"being deleted":                      {metadata: ", deletionTimestamp: '2026-01-01T00:00:00Z'" + managed, fields: color, wanted: color, want: "it is being deleted"},
		"one that nobody may read":           {wanted: color, change: func(_ *definitions.Wanted, c *cluster) { c.hidden = true }, want: "Forbidden: CustomResourceDefinition walls.example.com cannot be compared with the one of the cluster: "},
		"somebody's, the same":               {fields: color, wanted: "color: {type: string, description: what people see}", want: "nothing"},
		"somebody's, another":                {fields: both, wanted: color, want: "DefinitionTaken: CustomResourceDefinition walls.example.com stays as it is: it differs from spec.parent.schema, and Kanon did not create it"},
		"somebody's, the same, adopted":      {fields: color, wanted: color, change: adopt, want: "force optional"},
		"somebody's, another, adopted":       {fields: color, wanted: both, change: adopt, want: "force"},
		"somebody's, with copied marks":      {metadata: strings.TrimSuffix(ours, managed), fields: color, wanted: both, want: "DefinitionTaken"},
		"another Kanon's":                    {metadata: strings.Replace(ours, "kanon/wall", "other/wall", 1), fields: color, wanted: both, want: "rule other/wall of another Kanon keeps it"},
		"another Kanon's, the same":          {metadata: strings.Replace(ours, "kanon/wall", "other/wall", 1), fields: color, wanted: color, want: "nothing"},
		"of another rule":                    {metadata: strings.Replace(ours, "kanon/wall", "kanon/team/fence", 1), fields: color, wanted: both, want: "force"},
		"beside a rule before":               {metadata: ", annotations: {kanon.dev/definition: old}" + managed, fields: color, wanted: both, want: "force"},
		"in place":                           {metadata: current, fields: color, wanted: color, want: "nothing"},
		"in place, but for texts for people": {metadata: ours, fields: color, wanted: "color: {type: string, description: what people see}", want: "force optional"},
		"changed by somebody":                {metadata: current, fields: both, wanted: color, want: "force restores listed"},
		"a new field":                        {metadata: ours, fields: color, wanted: both, want: "force"},
		"a field less, without objects":      {metadata: ours, fields: both, wanted: color, want: "force listed"},
		"a field less, and nobody has it":    {metadata: ours, fields: both, wanted: color, change: with("{color: red}"), want: "force listed"},
		"a field less":                       {metadata: ours, fields: both, wanted: color, change: with("{size: 5}", "{color: red}"), want: "1 of 2 objects would lose something:\n- spec.size: the value is dropped, in team/o\nto go on"},
		"a field less, adopted":              {fields: both, wanted: color, change: func(w *definitions.Wanted, c *cluster) { adopt(w, c); with("{size: 5}")(w, c) }, want: "DefinitionHeld"},
		"a field less, confirmed": {metadata: ours, fields: both, wanted: color, change: func(w *definitions.Wanted, c *cluster) {
			with("{size: 5}")(w, c)
			w.Confirmed = []string{"x", token(c, w)}
		}, want: "force"},
		"a field less, another confirmed":  {metadata: ours, fields: both, wanted: color, change: func(w *definitions.Wanted, c *cluster) { with("{size: 5}")(w, c); w.Confirmed = []string{"x"} }, want: "DefinitionHeld"},
		"objects that nobody may list":     {metadata: ours, fields: both, wanted: color, change: failing(apierrors.NewForbidden(schema.GroupResource{}, "", nil)), want: "Forbidden: CustomResourceDefinition walls.example.com stays as it is, because it is not known"},
		"objects that cannot be listed":    {metadata: ours, fields: both, wanted: color, change: failing(errors.New("broken")), want: "list walls.example.com: broken"},
		"of another rule, the same":        {metadata: strings.Replace(current, "kanon/wall", "kanon/fence", 1), fields: color, wanted: color, want: "force optional"},
		"adopted, with a copied hash":      {metadata: ", annotations: {kanon.dev/definition: new}", fields: both, wanted: color, change: adopt, want: "force listed"},
		"managed by Kanon, without a mark": {metadata: managed, fields: both, wanted: color, want: "DefinitionTaken"},
		"marked, and managed by another":   {metadata: strings.Replace(ours, "kanon-definitions", "kubectl", 1), fields: both, wanted: color, want: "DefinitionTaken"},
		"beside rules, none":               {wanted: color, change: beside, want: "create"},
		"beside rules, somebody's, more":   {fields: both, wanted: color, change: beside, want: "nothing"},
		"beside rules, somebody's, less":   {fields: color, wanted: both, change: beside, want: ""},
		"beside rules, in place":           {metadata: current, fields: both, wanted: color, change: beside, want: "nothing"},
		"beside rules, a new field":        {metadata: ours, fields: color, wanted: both, change: beside, want: ""},
		"beside rules, another text":       {metadata: ours, fields: color, wanted: "color: {type: string, description: what people see}", change: beside, want: ""},
		"beside rules, a field less":       {metadata: ours, fields: both, wanted: color, change: func(w *definitions.Wanted, c *cluster) { beside(w, c); with("{size: 5}")(w, c) }, want: "spec.size: the value is dropped, in team/o\nto go on, change these objects, or undo the change of the document\ninstead, keep the field, and say in its description that nobody should set it\nto lose that, annotate the definition, "},
		"beside rules, confirmed": {metadata: ours, fields: both, wanted: color, change: func(w *definitions.Wanted, c *cluster) {
			beside(w, c)
			with("{size: 5}")(w, c)
			w.Confirmed = []string{token(c, w)}
		}, want: ""},
		"beside rules, another scope": {metadata: ours, scope: "Cluster", fields: color, wanted: color, change: beside, want: "the API server does not allow this change:\n- scope is Namespaced, and was Cluster\nundo the change of the document"},
		"another scope, confirmed":    {metadata: ours, scope: "Cluster", fields: color, wanted: color, change: func(w *definitions.Wanted, c *cluster) { w.Confirmed = []string{token(c, w)} }, want: "DefinitionHeld: CustomResourceDefinition walls.example.com stays as it is, because the API server does not allow this change:\n- scope is Namespaced, and was Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := &cluster{}
			if c.fields != "" {
				if c.scope == "" {
					c.scope = "Namespaced"
				}
				there.definition = keeperWalls(t, c.metadata, c.scope, c.fields)
			}
			wanted := definitions.Wanted{Definition: keeperWalls(t, "", "Namespaced", c.wanted), Hash: "new", Keeper: definitions.NameOf("kanon", "kanon", "wall")}
			if c.change != nil {
				c.change(&wanted, there)
			}
			got, err := outcome(t, wanted, there)
			if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func adopt(w *definitions.Wanted, _ *cluster) { w.Adopt = true }

// beside has the definition stand beside rules.
func beside(w *definitions.Wanted, _ *cluster) { w.Keeper = "" }

func failing(err error) func(*definitions.Wanted, *cluster) {
	return func(_ *definitions.Wanted, c *cluster) { c.err = err }
}

// with has objects with these specs in the cluster.
func with(specs ...string) func(*definitions.Wanted, *cluster) {
	return func(_ *definitions.Wanted, c *cluster) {
		for _, spec := range specs {
			data, err := yaml.YAMLToJSON([]byte("{apiVersion: example.com/v1, kind: Wall, metadata: {name: o, namespace: team}, spec: " + spec + "}"))
			if err != nil {
				panic(err)
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(data); err != nil {
				panic(err)
			}
			c.objects = append(c.objects, object)
		}
	}
}

// token confirms the change.
func token(c *cluster, w *definitions.Wanted) string {
	compared, err := definitions.Compare(c.definition, w.Definition)
	if err != nil {
		panic(err)
	}
	token, err := compared.Token()
	if err != nil {
		panic(err)
	}
	return token
}

// outcome is what Prepare finds, in words.
func outcome(t *testing.T, wanted definitions.Wanted, there *cluster) (string, error) {
	t.Helper()
	plan, err := definitions.Prepare(t.Context(), there, wanted)
	if err != nil {
		if plan != nil {
			t.Errorf("there is an error and a plan: %v", plan)
		}
		return "", err
	}
	if plan.Body == nil {
		return "nothing", nil
	}
	marks := plan.Body.GetAnnotations()
	if by, marked := marks["kanon.dev/keeper"]; marks["kanon.dev/definition"] != "new" || by != wanted.Keeper || marked != (by != "") {
		t.Errorf("the marks are %v", marks)
	}
	if there.definition == nil {
		return "create", nil
	}
	if plan.Body.GetResourceVersion() != there.definition.GetResourceVersion() || plan.Body.GetUID() != there.definition.GetUID() {
		t.Error("another state could be replaced than the one that was compared")
	}
	var words []string
	for i, is := range []bool{plan.Force, plan.Optional, plan.Restores, there.listed} {
		if is {
			words = append(words, [...]string{"force", "optional", "restores", "listed"}[i])
		}
	}
	return strings.Join(words, " "), nil
}

// A change that somebody can confirm has a token, and one that the API server does not allow has none.
func TestKeeperToken(t *testing.T) {
	t.Parallel()
	const ours = ", annotations: {kanon.dev/definition: old, kanon.dev/keeper: kanon/wall}, managedFields: [{manager: kanon-definitions, operation: Apply}]"
	for scope, confirmable := range map[string]bool{"Namespaced": true, "Cluster": false} {
		there := &cluster{definition: keeperWalls(t, ours, scope, "color: {type: string}, size: {type: integer}")}
		wanted := definitions.Wanted{Definition: keeperWalls(t, "", "Namespaced", "color: {type: string}"), Hash: "new", Keeper: "kanon/wall"}
		with("{size: 5}")(&wanted, there)
		_, err := outcome(t, wanted, there)
		refusal, ok := errors.AsType[*definitions.Withheld](err)
		if !ok {
			t.Fatalf("%s: %v", scope, err)
		}
		if want := token(there, &wanted); confirmable && refusal.Token != want || !confirmable && refusal.Token != "" {
			t.Errorf("%s: the token is %q", scope, refusal.Token)
		}
	}
}

// What the API server answers to an apply is a refusal if it stays so until somebody acts.
func TestRefused(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "walls.example.com", nil)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, "walls.example.com", nil)
	for name, c := range map[string]struct {
		err            error
		create, beside bool
		want           string // in the message of the refusal; empty: it is none
	}{
		"no right to create":      {err: forbidden, create: true, want: "Forbidden: Kanon may not create CustomResourceDefinition walls.example.com; the rule runs as soon as the cluster has it:\n- "},
		"no right to change":      {err: forbidden, want: "Forbidden: Kanon may not change CustomResourceDefinition walls.example.com"},
		"invalid":                 {err: invalid, want: "DefinitionRefused: the API server refuses CustomResourceDefinition walls.example.com:\n- "},
		"a bad request":           {err: apierrors.NewBadRequest("no"), want: "DefinitionRefused"},
		"beside rules, no right":  {err: forbidden, beside: true},
		"something that may pass": {err: apierrors.NewTooManyRequests("later", 1)},
		"a conflict":              {err: apierrors.NewConflict(schema.GroupResource{}, "", nil)},
	} {
		wanted := definitions.Wanted{Definition: keeperWalls(t, "", "Namespaced", "color: {type: string}"), Keeper: "kanon/wall"}
		if c.beside {
			wanted.Keeper = ""
		}
		got := definitions.WithheldBy(wanted, c.create, c.err)
		if _, refused := errors.AsType[*definitions.Withheld](got); refused != (c.want != "") || !strings.HasPrefix(got.Error(), c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A message has the first of many details.
func TestLongRefusal(t *testing.T) {
	t.Parallel()
	r := definitions.Withheld{Reason: "R", Summary: "s", Items: strings.Fields("a b c d e f g h i j k l"), Advice: []string{"x", "y"}}
	if got, want := r.Message(), "R: s:\n- a\n- b\n- c\n- d\n- e\n- f\n- g\n- h\n- i\n- j\n- and 2 more\nx\ny"; got != want {
		t.Errorf("the message is %s", got)
	}
	if got, want := r.Line()+"|"+r.Hint(), "s: a; b; c; d; e; f; g; h; i; j; and 2 more|x; y"; got != want {
		t.Errorf("the line is %s", got)
	}
	r.Items = r.Items[:1]
	if got := r.Message() + r.Line(); got != "R: s:\n- a\nx\nys: a" {
		t.Errorf("with one item it is %s", got)
	}
}

// A name tells installations apart, and the namespaces of rules.
func TestNameOf(t *testing.T) {
	t.Parallel()
	if got := definitions.NameOf("kanon", "kanon", "wall"); got != "kanon/wall" {
		t.Errorf("in Kanon's namespace it is %s", got)
	}
	if got := definitions.NameOf("kanon", "team", "wall"); got != "kanon/team/wall" {
		t.Errorf("in another one it is %s", got)
	}
}

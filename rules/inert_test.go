package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// evil is text in an object that would be an expression in a rule.
const evil = `$${x} ${parent.metadata.name} ${1 + 1} ${...[1]} ${`

// evilParent holds it at every place of an object that can hold text.
func evilParent() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "WebApp",
		"metadata": map[string]any{
			"name": "shop", "namespace": "team-a", "uid": "u1",
			"labels": map[string]any{"evil": evil, evil: "x"}, "annotations": map[string]any{evil: evil},
		},
		"spec": map[string]any{
			"text": evil, "list": []any{evil, map[string]any{"deep": []any{evil}}},
			"map":  map[string]any{evil: evil, "b": evil},
			"json": `{"k": "${parent.metadata.name}", "${1 + 1}": ["${x}"]}`,
			"yaml": "k: ${parent.metadata.name}\n'${1 + 1}': ['${x}']\n",
		},
		"status": map[string]any{"text": evil, "kept": map[string]any{evil: evil}},
	}}
}

// Text that comes from an object is never evaluated, whatever it contains and
// whichever way it takes.
func TestTextOfObjectsStaysText(t *testing.T) {
	t.Parallel()
	parsed := map[string]any{"k": "${parent.metadata.name}", "${1 + 1}": []any{"${x}"}}
	for name, test := range map[string]struct {
		// template is the value of a field that is rendered into a child, the
		// status, and by way of a variable.
		template string
		want     any
	}{
		"a field":                 {`"${parent.spec.text}"`, evil},
		"a label":                 {`"${parent.metadata.labels.evil}"`, evil},
		"an annotation":           {`"${parent.metadata.annotations[parent.spec.text]}"`, evil},
		"the parent's status":     {`"${parent.status.text}"`, evil},
		"between text":            {`"<${parent.spec.text}>"`, "<" + evil + ">"},
		"twice":                   {`"${parent.spec.text}${parent.spec.text}"`, evil + evil},
		"beside a literal":        {`"$${x} ${parent.spec.text}"`, "${x} " + evil},
		"an item of a list":       {`"${parent.spec.list[0]}"`, evil},
		"a list":                  {`"${parent.spec.list}"`, []any{evil, map[string]any{"deep": []any{evil}}}},
		"a map":                   {`"${parent.spec.map}"`, map[string]any{evil: evil, "b": evil}},
		"labels":                  {`"${parent.metadata.labels}"`, map[string]any{"evil": evil, evil: "x"}},
		"spliced":                 {`["${...parent.spec.list}", "${...parent.spec.map.map(k, k)}"]`, []any{evil, map[string]any{"deep": []any{evil}}, evil, "b"}},
		"a key":                   {`{"${parent.spec.text}": "${parent.spec.text}"}`, map[string]any{evil: evil}},
		"a key between text":      {`{"a-${parent.spec.text}": 1}`, map[string]any{"a-" + evil: int64(1)}},
		"a key of a literal":      {`"${{parent.spec.text: parent.spec.text}}"`, map[string]any{evil: evil}},
		"keys of a map":           {`"${parent.spec.map.map(k, k)}"`, []any{evil, "b"}},
		"optional":                {`"${parent.spec.?text}"`, evil},
		"joined":                  {`"${[parent.spec.text, parent.spec.text].join('+')}"`, evil + "+" + evil},
		"with +":                  {`"${'$' + '{parent.metadata.name}'}"`, "${parent.metadata.name}"},
		"replaced":                {`"${'#{x}'.replace('#', '$')}"`, "${x}"},
		"formatted":               {`"${'%s'.format([parent.spec.text])}"`, evil},
		"merged":                  {`"${merge({'a': 1}, parent.spec.map)}"`, map[string]any{"a": int64(1), evil: evil, "b": evil}},
		"deeply merged":           {`"${deepMerge({'x': parent.spec.map}, {'x': {'b': 'c'}})}"`, map[string]any{"x": map[string]any{evil: evil, "b": "c"}}},
		"from JSON":               {`"${fromJson(parent.spec.json)}"`, parsed},
		"from YAML":               {`"${fromYaml(parent.spec.yaml)}"`, parsed},
		"there and back":          {`"${fromJson(toJson(parent.spec.map))}"`, map[string]any{evil: evil, "b": evil}},
		"there and back, as YAML": {`"${fromYaml(toYaml(parent.spec.map))}"`, map[string]any{evil: evil, "b": evil}},
		"split and joined":        {`"${parent.spec.text.split(' ').join(' ')}"`, evil},
		"a match":                 {`"${parent.spec.text.find('[$][{]p.*name[}]')}"`, "${parent.metadata.name}"},
		"a name":                  {`"${dnsName(parent.spec.text).matches('^[a-z0-9-]+$')}"`, true},
		"a list in a list":        {`["${parent.spec.text}", ["${parent.spec.text}"], {a: "${parent.spec.text}"}]`, []any{evil, []any{evil}, map[string]any{"a": evil}}},
		"a loop's variable":       {`"${parent.spec.list.filter(x, x == parent.spec.text)}"`, []any{evil}},
		"bound to a name":         {`"${cel.bind(x, parent.spec.text, x + x)}"`, evil + evil},
		"by way of two variables": {`"${variables.outer}"`, map[string]any{"inner": evil, evil: []any{evil}}},
		"a block":                 {">-\n          a ${parent.spec.text}\n          b", "a " + evil + " b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compileWithin(t, strings.ReplaceAll(`
  variables:
  - {name: inner, value: "${parent.spec.text}"}
  - {name: outer, value: {inner: "${variables.inner}", "${variables.inner}": ["${variables.inner}"]}}
  - name: way
    value: TEMPLATE
  children:
  - id: direct
    template:
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: direct}
      out: TEMPLATE
  - id: live
    template:
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: live}
      out: ${children.direct.out}
  - id: variable
    template:
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: variable}
      out: ${variables.way}
  status:
    out: TEMPLATE
`, "TEMPLATE", test.template), program.Limits{})
			objects, out := evaluateAll(t, p, evilParent())
			got := map[string]any{"status": out.Status["out"]}
			want := map[string]any{"status": test.want, "direct": test.want, "live": test.want, "variable": test.want}
			for _, o := range objects {
				got[o.GetName()] = o.Object["out"]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.template, diff)
			}
		})
	}
}

// evaluateAll evaluates a rule, every object being applied as it is.
func evaluateAll(t *testing.T, p *program.Program, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, program.Result) {
	t.Helper()
	var all []*unstructured.Unstructured
	ev := p.Evaluate(t.Context(), program.Input{Parent: parent})
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, r := range batch {
			all = append(all, r.Objects...)
			ev.Applied(r.Node, r.Objects)
		}
	}
	out := ev.Result()
	for _, n := range out.Nodes {
		if n.State != program.StateApplied {
			t.Errorf("%+v", n)
		}
	}
	if len(out.StatusFailed)+len(out.StatusWaiting) > 0 {
		t.Errorf("failed: %v, waits: %v", out.StatusFailed, out.StatusWaiting)
	}
	return all, out
}

// The same holds for the values and keys of forEach, the live object in readyWhen,
// the last value of a leaf of the status, conditions and events.
func TestTextOfObjectsStaysTextElsewhere(t *testing.T) {
	t.Parallel()
	p := compileWithin(t, `
  children:
  - id: items
    forEach: [{name: x, in: "${parent.spec.list}"}]
    variables: [{name: local, value: "${x}"}]
    readyWhen: ${self.out == x && self.local == parent.spec.list[0] || type(x) == map}
    template:
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: "item-${dnsName(toJson(x))}"}
      out: ${x}
      local: ${variables.local}
  - id: entries
    forEach: [{name: e, in: "${parent.spec.map}"}]
    when: ${e.key == e.value}
    template:
      apiVersion: shop.example.com/v1
      kind: Note
      metadata: {name: "entry-${dnsName(e.key)}", labels: {"${e.key}": "${e.value}"}}
  status:
    kept: "${children.items.size() > 0 ? children.items[0].status.later : ''}"
    live: ${children.items.map(i, i.out)}
  conditions:
  - {type: Evil, status: true, message: "${parent.spec.text}"}
  - {type: Between, status: true, message: "<${children.items[0].local}>"}
  events:
  - {reason: Evil, message: "${parent.spec.text}"}
  - {reason: Status, message: "${status.live[0]}, ${status.kept}"}
`, program.Limits{})
	parent := evilParent()
	parent.Object["status"].(map[string]any)["kept"] = evil //nolint:forcetypeassert // It is one.
	var got []any
	ev := p.Evaluate(t.Context(), program.Input{Parent: parent})
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, r := range batch {
			for _, o := range r.Objects {
				got = append(got, o.Object["out"], o.Object["local"], o.Object["metadata"].(map[string]any)["labels"]) //nolint:forcetypeassert // It is one.
			}
			ev.Applied(r.Node, r.Objects)
		}
	}
	deep := map[string]any{"deep": []any{evil}}
	if diff := cmp.Diff([]any{evil, evil, nil, deep, deep, nil, nil, nil, map[string]any{evil: evil}}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	out := ev.Result()
	for _, n := range out.Nodes {
		if n.ID == "items" && !n.Ready {
			t.Errorf("%+v", n)
		}
	}
	if diff := cmp.Diff(map[string]any{"kept": evil, "live": []any{evil, deep}}, out.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{evil, "<" + evil + ">"}, []string{out.Conditions[0].Message, out.Conditions[1].Message}); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{evil, evil + ", " + evil}, []string{out.Events[0].Message, out.Events[1].Message}); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// $${ is ${ as it stands, wherever text can stand.
func TestDollarsStay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`"$${x}"`:                   "${x}",
		`"$$${x}"`:                  "$${x}",
		`"$${x} ${1 + 1}"`:          "${x} 2",
		`"${1 + 1}$${x}"`:           "2${x}",
		`"$${${1 + 1}}"`:            "${2}",
		`"a $ b $$ c"`:              "a $ b $$ c",
		`"$(x) $x {x}"`:             "$(x) $x {x}",
		`{"$${k}": 1}`:              map[string]any{"${k}": int64(1)},
		`["$${...x}", "${...[1]}"]`: []any{"${...x}", int64(1)},
		`"${'$${x}'}"`:              "$${x}",
		`"${'${x}'}"`:               "${x}",
		`"${{'a': '}'}.a}"`:         "}",
		"|\n      #!/bin/sh\n      echo $${HOME} $$ ${1 + 1}\n": "#!/bin/sh\necho ${HOME} $$ 2\n",
	} {
		p := compileWithin(t, "  status:\n    out: "+text, program.Limits{})
		if _, out := evaluateAll(t, p, evilParent()); !cmp.Equal(out.Status["out"], want) {
			t.Errorf("%s: got %#v, want %#v", text, out.Status["out"], want)
		}
	}
}

package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// kept is a rule with the schema of its parent's kind.
func kept(name, kind, schema string) string {
	return fmt.Sprintf(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: %s}
spec:
  parent:
    apiVersion: $GROUP/v1
    kind: %s
    schema: %s
  status: {seen: "${parent.metadata.name}"}
`, name, kind, schema)
}

// definitionOf is the definition of a kind in the cluster.
func (w *world) definitionOf(kind string) *unstructured.Unstructured {
	w.t.Helper()
	return w.get(crds, "", strings.ToLower(kind)+"s."+w.group)
}

// awaitField waits until the definition of Wall has a field of spec, or has it not.
func (w *world) awaitField(field string, has bool) {
	w.t.Helper()
	w.await(crds, "", "walls."+w.group, fmt.Sprintf("has %s: %t", field, has), func(definition *unstructured.Unstructured) bool {
		return hasField(definition, field) == has
	})
}

// setServedField changes a Wall once the API server serves the fields: it does so a moment after the definition has them,
// and until then it drops them.
func (w *world) setServedField(name, change string) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, last = w.at(w.resource("Wall"), w.home).Patch(ctx, name, types.MergePatchType, []byte(change),
			metav1.PatchOptions{FieldManager: "somebody", FieldValidation: metav1.FieldValidationStrict})
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("patch %s with %s: %v, %v", name, change, err, last)
	}
}

// hasField tells whether the first version of a definition has a field of spec.
func hasField(definition *unstructured.Unstructured, field string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if len(versions) == 0 {
		return false
	}
	version, _ := versions[0].(map[string]any)
	_, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", field)
	return found
}

// written lists the writes of definitions since a request.
func (w *world) written(since int) []string {
	return slices.DeleteFunc(slices.Clone(w.requests.since(since)), func(request string) bool {
		return !strings.Contains(request, "/customresourcedefinitions/") || strings.HasPrefix(request, "GET ")
	})
}

// Kanon makes the definition of a rule's schema, changes it with the rule, and leaves it when the rule goes. Another rule goes on
// with it.
func TestDefinitionOfASchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string | default=red}}"))
	stop := w.run()
	w.verdict("wall", "rules in force: 1")
	w.parent("Wall", "north", "{}")
	north := w.await(w.resource("Wall"), w.home, "north", "is seen", has("north", "status", "seen"))
	if color, _, _ := unstructured.NestedString(north.Object, "spec", "color"); color != "red" {
		t.Errorf("the color is %q, want the default", color)
	}
	made := w.definitionOf("Wall")
	if got, want := made.GetAnnotations()["kanon.dev/keeper"], w.kanon+"/wall"; got != want {
		t.Errorf("the keeper is %q, want %q", got, want)
	}

	// With the definition in place, a restart writes nothing.
	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("north")
	w.quiet()
	if got := w.written(from); len(got) > 0 {
		t.Errorf("a restart wrote %q", got)
	}

	// A field is added.
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string | default=red, height: integer}}"))
	w.awaitField("height", true)
	w.verdict("wall", "rules in force: 1")

	// A mistake in the rule changes nothing.
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string | default=red}}")+"  nothing: 1\n")
	w.verdict("wall", "unknown field")
	if !hasField(w.definitionOf("Wall"), "height") {
		t.Error("a rule with a mistake changed the definition")
	}

	// Somebody changes it.
	w.patch(crds, "", made.GetName(), `{"spec":{"names":{"singular":"mauer"}}}`)
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string | default=red, height: integer}}"))
	w.await(crds, "", made.GetName(), "is restored", has("wall", "spec", "names", "singular"))

	// The rule goes: the definition and the objects stay. One with another name takes over.
	w.delete(configMaps, w.kanon, "wall")
	w.await(w.resource("Wall"), w.home, "north", "is not seen any more", func(o *unstructured.Unstructured) bool { return !has("north", "status", "seen")(o) })
	w.quiet()
	w.rule("mauer", kept("mauer", "Wall", "{spec: {color: string | default=red, width: integer, height: integer}}"))
	w.awaitField("width", true)
	w.await(w.resource("Wall"), w.home, "north", "is seen again", has("north", "status", "seen"))
	now := w.definitionOf("Wall")
	if got, want := now.GetAnnotations()["kanon.dev/keeper"], w.kanon+"/mauer"; got != want || now.GetUID() != made.GetUID() {
		t.Errorf("the keeper is %q, want %q, and the definition is the same: %t", got, want, now.GetUID() == made.GetUID())
	}
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "DELETE ") && strings.Contains(request, "customresourcedefinitions") {
			t.Errorf("a definition was deleted: %s", request)
		}
	}
}

// What others change in a definition is restored, but not again and again.
func TestDefinitionThatOthersChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string}}"))
	w.run()
	w.verdict("wall", "rules in force: 1")
	for _, singular := range []string{"mauer", "mur"} {
		w.patch(crds, "", "walls."+w.group, `{"spec":{"names":{"singular":"`+singular+`"}}}`)
		if singular == "mauer" {
			w.await(crds, "", "walls."+w.group, "is restored", has("wall", "spec", "names", "singular"))
		}
	}
	verdict := w.verdict("wall", "others changed it within 1m0s after Kanon had restored it")
	if !strings.Contains(verdict, "singular is wall, and was mur") {
		t.Errorf("the verdict does not say what: %s", verdict)
	}
	w.quiet()
	if got := w.definitionOf("Wall"); !has("mur", "spec", "names", "singular")(got) {
		t.Error("it was restored at once")
	}
}

// A definition that Kanon did not make is left alone, unless the rule adopts it.
func TestDefinitionOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const schema = "spec: {color: string}"
	w.install(w.wallDefinition("color", "height"))
	before := w.definitionOf("Wall")
	w.parent("Wall", "north", "{color: red}")
	w.rule("wall", kept("wall", "Wall", "{"+schema+"}"))
	w.run()
	verdict := w.verdict("wall", "DefinitionTaken")
	for _, want := range []string{"Kanon did not create it", "adopt: true", "spec.height of v1 is removed"} {
		if !strings.Contains(verdict, want) {
			t.Errorf("the verdict lacks %q: %s", want, verdict)
		}
	}
	w.quiet()
	if after := w.definitionOf("Wall"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the definition was changed")
	}
	if north := w.get(w.resource("Wall"), w.home, "north"); has("north", "status", "seen")(north) {
		t.Error("the rule runs")
	}

	w.rule("wall", kept("wall", "Wall", "{adopt: true, "+schema+"}"))
	w.awaitField("height", false)
	w.verdict("wall", "rules in force: 1")
	w.await(w.resource("Wall"), w.home, "north", "is seen", has("north", "status", "seen"))

	// It is Kanon's now, also without adopt.
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string, width: integer}}"))
	w.awaitField("width", true)
	w.verdict("wall", "rules in force: 1")
}

// What others may apply, such as an administrator, is enough if it is the same.
func TestDefinitionThatIsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string}}"))
	user := w.user()
	w.grant(user, "parents", rightsForParents)
	w.runAs(user)
	verdict := w.verdict("wall", "Forbidden")
	for _, want := range []string{"Kanon may not create CustomResourceDefinition walls." + w.group, "kanon crd", "kubectl apply -f -"} {
		if !strings.Contains(verdict, want) {
			t.Errorf("the verdict lacks %q: %s", want, verdict)
		}
	}
	docs, _ := syntax.Decode("rule.yaml", []byte(w.expand(kept("wall", "Wall", "{spec: {color: string}}"))))
	rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs) // as kanon crd does
	w.install(docs.Rules[0].Parent.Definition)
	w.verdict("wall", "rules in force: 1")
	w.parent("Wall", "north", "{color: red}")
	w.await(w.resource("Wall"), w.home, "north", "is seen", has("north", "status", "seen"))
	if keeper, ok := w.definitionOf("Wall").GetAnnotations()["kanon.dev/keeper"]; ok {
		t.Errorf("it was taken over by %s", keeper)
	}
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string, width: integer}}"))
	w.verdict("wall", "DefinitionTaken")
}

// A change is applied only if no object loses anything, or if it is confirmed. restmapping/definitions has the table of
// what objects lose.
func TestDefinitionThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	for i, c := range []struct {
		name string
		// before and after are schemas.
		before, after string
		// object is the spec of an object that is stored.
		object string
		// held is what the object would lose; empty: the change is applied.
		held string
		// never is true if nobody can confirm the change.
		never bool
	}{
		{name: "a field that is not used is removed", before: "{spec: {size: integer, color: string}}", after: "{spec: {size: integer}}", object: "{size: 5}"},
		{name: "a field is removed", before: "{spec: {size: integer, color: string}}", after: "{spec: {size: integer}}", object: "{color: red}", held: "spec.color: the value is dropped, in $HOME/"},
		{name: "another scope", before: "{spec: {size: integer}}", after: "{scope: Cluster, spec: {size: integer}}", object: "{size: 5}", held: "scope is Cluster, and was Namespaced", never: true},
		{
			name: "a version less", before: "{versions: [{name: v1, stored: true, spec: {size: integer}}, {name: v1beta1, spec: {size: integer}}]}", after: "{spec: {size: integer}}", object: "{size: 5}",
			held: "version v1beta1 is removed, and whoever reads through it fails, in $HOME/",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, kind := w.in(t), fmt.Sprintf("Wall%dn", i)
			name := strings.ToLower(kind)
			w.rule(name, kept(name, kind, c.before))
			w.verdict(name, "rules in force: 1")
			w.parent(kind, name, c.object)
			w.await(w.resource(kind), w.home, name, "is seen", has(name, "status", "seen"))
			spec, generation := w.get(w.resource(kind), w.home, name).Object["spec"], w.definitionOf(kind).GetGeneration()

			w.rule(name, kept(name, kind, c.after))
			changed := func(definition *unstructured.Unstructured) bool { return definition.GetGeneration() > generation }
			if c.held == "" {
				w.await(crds, "", name+"s."+w.group, "is changed", changed)
				w.verdict(name, "rules in force: 1")
				return
			}
			verdict := w.verdict(name, "DefinitionHeld")
			for _, want := range []string{w.expand(c.held), "the last good revision keeps running"} {
				if !strings.Contains(verdict, want) {
					t.Errorf("the verdict lacks %q: %s", want, verdict)
				}
			}
			if changed(w.definitionOf(kind)) {
				t.Error("the definition was changed")
			}
			if after := w.get(w.resource(kind), w.home, name).Object["spec"]; fmt.Sprint(after) != fmt.Sprint(spec) {
				t.Errorf("spec is %v, and was %v", after, spec)
			}
			token := regexp.MustCompile(`kanon\.dev/confirm-definition: \\"([0-9a-f]+)\\"`).FindStringSubmatch(verdict)
			if c.never {
				if token != nil {
					t.Errorf("it can be confirmed with %s", token[1])
				}
				return
			}
			if token == nil {
				t.Fatalf("the verdict names no annotation: %s", verdict)
			}
			w.patch(configMaps, w.kanon, name, `{"metadata":{"annotations":{"kanon.dev/confirm-definition":"`+token[1]+`"}}}`)
			w.await(crds, "", name+"s."+w.group, "is changed", changed)
			w.verdict(name, "rules in force: 1")
		})
	}
}

// A confirmation is for one change, and once.
func TestConfirmationOfOneChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	token := func(verdict string) string {
		t.Helper()
		found := regexp.MustCompile(`kanon\.dev/confirm-definition: \\"([0-9a-f]+)\\"`).FindStringSubmatch(verdict)
		if found == nil {
			t.Fatalf("the verdict names no annotation: %s", verdict)
		}
		return found[1]
	}
	const both, one, other = "{spec: {color: string, size: integer}}", "{spec: {color: string}}", "{spec: {size: integer}}"
	w.rule("wall", kept("wall", "Wall", both))
	w.verdict("wall", "rules in force: 1")
	w.parent("Wall", "north", "{color: red, size: 5}")

	w.rule("wall", kept("wall", "Wall", one))
	first := token(w.verdict("wall", "spec.size: the value is dropped"))
	confirm := func(token string) {
		t.Helper()
		w.patch(configMaps, w.kanon, "wall", `{"metadata":{"annotations":{"kanon.dev/confirm-definition":"`+token+`"}}}`)
	}
	w.rule("wall", kept("wall", "Wall", other)) // and confirmed is the one before
	confirm(first)
	second := token(w.verdict("wall", "spec.color: the value is dropped"))
	w.quiet()
	if first == second || !hasField(w.definitionOf("Wall"), "color") {
		t.Error("the confirmation of one change confirms another")
	}
	w.rule("wall", kept("wall", "Wall", one))
	w.awaitField("size", false)

	// The same change, later.
	w.rule("wall", kept("wall", "Wall", both))
	w.awaitField("size", true)
	w.setServedField("north", `{"spec":{"size":5}}`)
	w.rule("wall", kept("wall", "Wall", one))
	w.verdict("wall", "spec.size: the value is dropped")
	w.quiet()
	if !hasField(w.definitionOf("Wall"), "size") {
		t.Error("a confirmation is good for another time")
	}

	// The object is changed instead: after some time, that is noticed; at once, if the rule changes.
	w.patch(w.resource("Wall"), w.home, "north", `{"spec":{"size":null}}`)
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string, width: integer}}"))
	w.awaitField("size", false)
	w.verdict("wall", "rules in force: 1")
}

// Of two rules for one kind, the older keeps the definition. Both reports say so.
func TestTwoSchemasForOneKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("zeta", kept("zeta", "Wall", "{spec: {color: string}}"))
	stop := w.run()
	w.verdict("zeta", "rules in force: 1")
	awaitNextSecond() // of two that are equally old, the first by name is the older one
	w.rule("alpha", kept("alpha", "Wall", "{spec: {color: string, width: integer}}"))
	verdict := w.verdict("alpha", "DefinitionTaken")
	if !strings.Contains(verdict, "belongs to rule "+w.kanon+"/zeta") {
		t.Errorf("the verdict does not name the other rule: %s", verdict)
	}
	w.verdict("zeta", "rule alpha has a schema for kind Wall too")
	stop()
	w.run()
	w.parent("Wall", "north", "{}")
	w.await(w.resource("Wall"), w.home, "north", "is seen", has("north", "status", "seen"))
	w.quiet()
	if hasField(w.definitionOf("Wall"), "width") {
		t.Error("the younger rule changed the definition")
	}
	w.delete(configMaps, w.kanon, "zeta")
	w.awaitField("width", true)
	w.verdict("alpha", "rules in force: 1")
}

// The plural of a kind cannot be changed: that would be another definition, which the API server would not serve.
func TestDefinitionWithAnotherName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string}}"))
	w.verdict("wall", "rules in force: 1")
	w.rule("wall", kept("wall", "Wall", "{plural: wallen, spec: {color: string}}"))
	w.verdict("wall", "the plural of a kind cannot be changed")
	w.quiet()
	if _, err := w.client.Resource(crds).Get(t.Context(), "wallen."+w.group, metav1.GetOptions{}); err == nil {
		t.Error("another definition was created")
	}
}

// A status may take its types from the kind of another rule. The rule waits for that kind, and its definition changes with it.
func TestStatusOfAnotherRulesKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	w.rule("house", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: house}
spec:
  parent: {apiVersion: $GROUP/v1, kind: House, schema: {spec: {color: string}}}
  children:
  - id: wall
    template: {apiVersion: $GROUP/v1, kind: Wall, metadata: {name: "${parent.metadata.name}"}, spec: {color: "${parent.spec.?color}"}}
  status: {wall: "${children.wall.status.seen}"}
`)
	verdict := w.verdict("house", "waiting for Wall in "+w.group+"/v1, from which the status takes its types")
	if strings.Contains(verdict, "KN0804") {
		t.Errorf("it is refused, and could become known: %s", verdict)
	}
	w.rule("wall", kept("wall", "Wall", "{spec: {color: string}}"))
	w.verdict("house", "rules in force: 1")
	typeOf := func(definition *unstructured.Unstructured) string {
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		version, _ := versions[0].(map[string]any)
		typ, _, _ := unstructured.NestedString(version, "schema", "openAPIV3Schema", "properties", "status", "properties", "wall", "type")
		return typ
	}
	if typ := typeOf(w.definitionOf("House")); typ != "string" {
		t.Errorf("status.wall is of type %q, want string", typ)
	}
	w.parent("House", "north", "{color: red}")
	w.await(w.resource("House"), w.home, "north", "has a wall", has("north", "status", "wall"))

	// The other kind changes, and so does what is made of it.
	w.rule("wall", strings.Replace(kept("wall", "Wall", "{spec: {color: string}}"), `"${parent.metadata.name}"`, `"${1}"`, 1))
	w.await(crds, "", "houses."+w.group, "has a number", func(definition *unstructured.Unstructured) bool { return typeOf(definition) == "integer" })
	w.verdict("house", "rules in force: 1")
	w.await(w.resource("House"), w.home, "north", "has a number", func(house *unstructured.Unstructured) bool {
		wall, _, _ := unstructured.NestedInt64(house.Object, "status", "wall")
		return wall == 1
	})
}

// A field of the status that gets another type is set again: the API server refuses an apply while the old value is there.
func TestStatusThatGetsAnotherType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	rule := func(status string) string {
		return fmt.Sprintf(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: wall}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Wall, schema: {spec: {color: string}, status: {theirs: string}}}
  status: %s
`, status)
	}
	w.rule("wall", rule(`{stays: "${parent.metadata.name}", count: "${parent.metadata.name}", object: {a: "${parent.metadata.name}", b: {c: x}}, text: x, list: ["${parent.metadata.name}"]}`))
	w.verdict("wall", "rules in force: 1")
	w.parent("Wall", "north", "{}")
	w.await(w.resource("Wall"), w.home, "north", "has a status", has("north", "status", "object", "a"))
	w.patchStatus(w.resource("Wall"), w.home, "north", `{"status":{"theirs":"kept"}}`)

	w.rule("wall", rule(`{stays: "${parent.metadata.name}", count: "${1}", object: x, text: {a: {b: "${2}"}}, list: ["${3}"]}`))
	w.verdict("wall", "rules in force: 1")
	w.await(w.resource("Wall"), w.home, "north", "has another status", func(o *unstructured.Unstructured) bool {
		status, _ := o.Object["status"].(map[string]any)
		delete(status, "conditions")
		delete(status, "observedGeneration")
		return fmt.Sprint(status) == "map[count:1 list:[3] object:x stays:north text:map[a:map[b:2]] theirs:kept]"
	})
}

// A definition that stands beside a rule is changed only if no object loses anything, or if that is confirmed.
func TestDefinitionBesideThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run()
	beside := func(fields string) string {
		return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: walls.$GROUP}
spec:
  group: $GROUP
  scope: Namespaced
  names: {kind: Wall, plural: walls}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}}}}}
---
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: wall}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Wall}
  children: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}}}]
`, fields)
	}
	w.rule("wall", beside("color: {type: string}, size: {type: integer}"))
	w.verdict("wall", "rules in force: 1")
	w.parent("Wall", "north", "{color: red, size: 5}")
	w.await(configMaps, w.home, "north", "exists", func(*unstructured.Unstructured) bool { return true })

	w.rule("wall", beside("size: {type: integer}, width: {type: integer}"))
	verdict := w.verdict("wall", "DefinitionHeld")
	token := regexp.MustCompile(`kanon\.dev/confirm-definition: \\"([0-9a-f]+)\\"`).FindStringSubmatch(verdict)
	if token == nil || !strings.Contains(verdict, "spec.color: the value is dropped, in "+w.home+"/north") {
		t.Fatalf("the verdict does not say what would be lost, and how to go on: %s", verdict)
	}
	if !hasField(w.definitionOf("Wall"), "color") {
		t.Error("the definition was changed")
	}
	w.patch(configMaps, w.kanon, "wall", `{"metadata":{"annotations":{"kanon.dev/confirm-definition":"`+token[1]+`"}}}`)
	w.awaitField("color", false)
	w.verdict("wall", "rules in force: 1")
	if _, kept := w.definitionOf("Wall").GetAnnotations()["kanon.dev/keeper"]; kept {
		t.Error("a rule keeps it")
	}
}

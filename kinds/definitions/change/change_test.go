package change_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/kinds/definitions/change"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// version is a version whose spec has a schema.
func version(name, flags, spec string) string {
	return fmt.Sprintf("{name: %s, %s, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {spec: %s, "+
		"status: {type: object, properties: {seen: {type: string}}}}}}}", name, flags, spec)
}

// definition is that of a kind Wall.
func definition(t *testing.T, spec string, versions ...string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: walls.example.com, uid: u, generation: 1}, "+
		"spec: {group: example.com, "+spec+", versions: ["+strings.Join(versions, ", ")+"]}, status: {storedVersions: [v1]}}")
}

const (
	walls  = "scope: Namespaced, names: {kind: Wall, plural: walls}"
	stored = "served: true, storage: true"
	served = "served: true, storage: false"
)

// object is what an object has besides its type and its name.
func object(t *testing.T, number int, text string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, "{apiVersion: example.com/v1, kind: Wall, "+strings.TrimPrefix(text, "{"))
	o.SetNamespace("team")
	o.SetName(fmt.Sprintf("o%d", number))
	return o
}

// shown is what changes, and what objects lose.
func shown(t *testing.T, before, after *unstructured.Unstructured, objects []string) (changes, losses string) {
	t.Helper()
	c, err := change.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, change := range c.Changes {
		lines = append(lines, [...]string{"ok", "objects", "users", "never"}[change.Risk]+" "+change.String())
	}
	if c.IsSame() != (len(lines) == 0) || c.NeedsObjects() != strings.Contains("\n"+strings.Join(lines, "\n"), "\nobjects ") && !strings.Contains("\n"+strings.Join(lines, "\n"), "\nusers ") {
		t.Errorf("same is %t and it needs objects is %t for %q", c.IsSame(), c.NeedsObjects(), lines)
	}
	survey, err := c.Survey(func(manager string) bool { return manager == "own" })
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range objects {
		if err := survey.Add(t.Context(), object(t, i, text)); err != nil {
			t.Fatal(err)
		}
	}
	var lost []string
	for _, loss := range survey.Losses() {
		lost = append(lost, loss.String())
	}
	return strings.Join(lines, "\n"), strings.Join(lost, "\n")
}

// Each change of a schema is found, and of the objects those are named that lose something by it.
func TestSchemas(t *testing.T) {
	t.Parallel()
	// fields is a spec with these properties.
	fields := func(properties string) string { return "{type: object, properties: {" + properties + "}}" }
	const filled = "{spec: {a: web, num: 5, l: [{k: x}], m: {x: z}, o: {p: 1}}}"
	for name, c := range map[string]struct {
		before, after   string
		objects         []string
		changes, losses string
	}{
		"nothing": {before: fields("a: {type: string}"), after: fields("a: {type: string}"), objects: []string{filled}},
		"texts for people": {
			before: fields("a: {type: string, description: old, title: a}"), after: fields("a: {type: string, description: new, example: b}"), objects: []string{"{spec: {a: b}}"},
		},
		"a new field": {
			before: fields("a: {type: string}"), after: fields("a: {type: string}, b: {type: string, default: x}"), objects: []string{"{spec: {a: b}}"},
			changes: "ok spec.b of v1: the field is new",
		},
		"a field that goes": {
			before: fields("a: {type: string}, b: {type: string}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: b}}", "{spec: {b: x}}", "{spec: {a: x, b: z}}"},
			changes: "objects spec.b of v1: the field is removed", losses: "spec.b: the value is dropped, in team/o1, team/o2",
		},
		"a field that goes and nobody has": {
			before: fields("a: {type: string}, b: {type: string}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: b}}"},
			changes: "objects spec.b of v1: the field is removed",
		},
		"a field of items that goes": {
			before: fields("l: {type: array, items: {type: object, properties: {k: {type: string}, z: {type: string}}}}"),
			after:  fields("l: {type: array, items: {type: object, properties: {k: {type: string}}}}"), objects: []string{"{spec: {l: [{k: a}, {z: b}, {z: c}]}}"},
			changes: "objects spec.l[*].z of v1: the field is removed", losses: "spec.l[*].z: the value is dropped, in team/o0",
		},
		"fields that anything could be": {
			before: "{type: object, x-kubernetes-preserve-unknown-fields: true}", after: fields("num: {type: string}"), objects: []string{"{spec: {num: 5}}", "{spec: {x: 1}}", "{spec: {num: a}}"},
			changes: "objects spec of v1: unknown fields are no longer kept\nobjects spec.num of v1: the field has a schema, and could be anything",
			losses:  "spec.num: it must be of type string, and is of type integer, in team/o0\nspec.x: the value is dropped, in team/o1",
		},
		"fields that anything can be": {
			before: fields("num: {type: string}"), after: "{type: object, x-kubernetes-preserve-unknown-fields: true}", objects: []string{"{spec: {num: a}}"},
			changes: "ok spec of v1: unknown fields are kept\nok spec.num of v1: the field has no schema any more, and is kept",
		},
		"another type": {
			before: fields("num: {type: integer}"), after: fields("num: {type: string}"), objects: []string{"{spec: {}}", "{spec: {num: 5}}"},
			changes: "objects spec.num of v1: its type is string, and was integer", losses: "spec.num: it must be of type string, and is of type integer, in team/o1",
		},
		"a wider type": {
			before: fields("num: {type: integer}, s: {type: string}"), after: fields("num: {type: number}, s: {x-kubernetes-int-or-string: true}"), objects: []string{"{spec: {num: 5, s: x}}"},
			changes: "ok spec.num of v1: its type is number, and was integer\nok spec.s of v1: its type is integer or string, and was string",
		},
		"a narrower type": {
			before: fields("s: {x-kubernetes-int-or-string: true}"), after: fields("s: {type: integer}"), objects: []string{"{spec: {s: 5}}", "{spec: {s: 5%}}"},
			changes: "objects spec.s of v1: its type is integer, and was integer or string", losses: "spec.s: it must be of type integer, and is of type string, in team/o1",
		},
		"no null": {
			before: fields("a: {type: string, nullable: true}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: null}}", "{spec: {a: b}}"},
			changes: "objects spec.a of v1: null is no longer allowed", losses: "spec.a: the value is dropped, in team/o0",
		},
		"a required field": {
			before: fields("a: {type: string}"), after: "{type: object, required: [a], properties: {a: {type: string}}}", objects: []string{"{spec: {a: b}}", "{spec: {}}", "{}"},
			changes: "objects spec.a of v1: the field is required, and has no default", losses: "spec.a: it is required, and missing, in team/o1",
		},
		"a required field with a default": {
			before: fields("a: {type: string}"), after: "{type: object, required: [b], properties: {a: {type: string}, b: {type: string, default: x}}}", objects: []string{"{spec: {a: b}}"},
			changes: "ok spec.b of v1: the field is required, and has a default\nok spec.b of v1: the field is new",
		},
		"a new required field": {
			before: fields("a: {type: string}"), after: "{type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}", objects: []string{"{spec: {a: b}}"},
			changes: "objects spec.b of v1: the field is required, and has no default\nok spec.b of v1: the field is new", losses: "spec.b: it is required, and missing, in team/o0",
		},
		"a field that need not be": {
			before: "{type: object, required: [a], properties: {a: {type: string}}}", after: fields("a: {type: string}"), objects: []string{"{spec: {a: b}}"},
			changes: "ok spec.a of v1: the field is no longer required",
		},
		"another default": {
			before: fields("num: {type: integer, default: 1}"), after: fields("num: {type: integer, default: 2}"), objects: []string{"{spec: {num: 1}}"},
			changes: "ok spec.num of v1: its default is 2, and was 1",
		},
		"no default": {
			before: fields("num: {type: integer, default: 1}"), after: fields("num: {type: integer}"), objects: []string{"{spec: {num: 1}}", "{spec: {num: 2}}"},
			changes: "objects spec.num of v1: it has no default, and had 1", losses: "spec.num: the value may be no more than the default, which goes, in team/o0",
		},
		"no default of an object": {
			before: fields("o: {type: object, default: {p: 1}, properties: {p: {type: integer}, q: {type: string}}}"), after: fields("o: {type: object, properties: {p: {type: integer}, q: {type: string}}}"),
			objects: []string{"{spec: {o: {p: 1}}}", "{spec: {o: {p: 2}}}", "{spec: {o: {p: 1, q: x}}}"},
			changes: `objects spec.o of v1: it has no default, and had {"p":1}`, losses: "spec.o: the value may be no more than the default, which goes, in team/o0",
		},
		"a default that is one entry too many": {
			before: fields("o: {type: object, maxProperties: 1, properties: {p: {type: string}, q: {type: string}}}"), after: fields("o: {type: object, maxProperties: 1, properties: {p: {type: string}, q: {type: string, default: x}}}"),
			objects: []string{"{spec: {o: {p: a}}}", "{spec: {o: {q: y}}}"},
			changes: `objects spec.o.q of v1: its default is "x"`, losses: "spec.o: it has too many entries, in team/o0",
		},
		"a new field whose default a validation forbids": {
			before:  fields("o: {type: object, x-kubernetes-validations: [{rule: '!has(self.q) || !has(self.p)'}], properties: {p: {type: string}, q: {type: string}}}"),
			after:   fields("o: {type: object, x-kubernetes-validations: [{rule: '!has(self.q) || !has(self.p)'}], properties: {p: {type: string}, q: {type: string, default: x}, r: {type: string, default: z}}}"),
			objects: []string{"{spec: {o: {p: a}}}", "{spec: {o: {q: y}}}"},
			changes: "objects spec.o.q of v1: its default is \"x\"\nobjects spec.o.r of v1: the field is new", losses: "spec.o: a validation is not true, in team/o0",
		},
		"no default around others": {
			before: fields("o: {type: object, default: {}, properties: {p: {type: integer, default: 1}}}"), after: fields("o: {type: object, properties: {p: {type: integer, default: 1}}}"),
			objects: []string{"{spec: {o: {p: 1}}}", "{spec: {o: {p: 2}}}"},
			changes: `objects spec.o of v1: it has no default, and had {}`, losses: "spec.o: the value may be no more than the default, which goes, in team/o0",
		},
		"no default around one that goes": {
			before: fields("o: {type: object, default: {}, properties: {p: {type: integer, default: 1}}}"), after: fields("o: {type: object, properties: {p: {type: integer}}}"),
			objects: []string{"{spec: {o: {p: 1}}}", "{spec: {o: {p: 2}}}"},
			changes: "objects spec.o of v1: it has no default, and had {}\nobjects spec.o.p of v1: it has no default, and had 1", losses: "spec.o.p: the value may be no more than the default, which goes, in team/o0",
		},
		"a default around others": {
			before: fields("o: {type: object, properties: {p: {type: integer, default: 1}}}"), after: fields("o: {type: object, default: {}, properties: {p: {type: integer, default: 1}}}"), objects: []string{"{spec: {}}", "{spec: {o: {p: 2}}}"},
			changes: `ok spec.o of v1: its default is {}`,
		},
		// What only a new value must obey does no harm.
		"fewer values": {
			before: fields("a: {type: string, enum: [web, db]}"), after: fields("a: {type: string, enum: [db]}"), objects: []string{"{spec: {a: web}}"},
			changes: `objects spec.a of v1: these values are no longer allowed: "web"`,
		},
		"only some values": {
			before: fields("a: {type: string}"), after: fields("a: {type: string, enum: [db]}"), objects: []string{"{spec: {a: web}}"},
			changes: `objects spec.a of v1: only these values are allowed: "db"`,
		},
		"more values": {
			before: fields("a: {type: string, enum: [db]}"), after: fields("a: {type: string, enum: [web, db]}"), objects: []string{"{spec: {a: db}}"},
			changes: `ok spec.a of v1: these values are allowed: "web"`,
		},
		"all values": {
			before: fields("a: {type: string, enum: [db]}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: db}}"}, changes: `ok spec.a of v1: all values are allowed`,
		},
		"a pattern and a format": {
			before: fields("a: {type: string, pattern: x}, b: {type: string, pattern: w}, c: {type: string}"), after: fields("a: {type: string, pattern: z}, b: {type: string}, c: {type: string, format: date}"),
			objects: []string{"{spec: {a: web, b: z, c: nope}}"},
			changes: "objects spec.a of v1: its pattern is z, and was x\nok spec.b of v1: it has no pattern, and had w\nobjects spec.c of v1: its format is date",
		},
		"bounds": {
			before:  fields("a: {type: integer, minimum: 1, maximum: 9}, b: {type: string, maxLength: 5}, c: {type: array, items: {type: string}}, d: {type: integer, multipleOf: 2}"),
			after:   fields("a: {type: integer, minimum: 0, maximum: 8, exclusiveMaximum: true}, b: {type: string, minLength: 2}, c: {type: array, maxItems: 1, items: {type: string}}, d: {type: integer, multipleOf: 3}"),
			objects: []string{"{spec: {a: 9, b: x, c: [a, b], d: 2}}"},
			changes: "ok spec.a of v1: its minimum is 0, and was 1\nobjects spec.a of v1: its maximum is 8, and was 9\nobjects spec.a of v1: exclusiveMaximum is true\n" +
				"objects spec.b of v1: its minLength is 2\nok spec.b of v1: it has no maxLength, and had 5\nobjects spec.c of v1: its maxItems is 1\nobjects spec.d of v1: it must be a multiple of 3",
		},
		// What keeps others from being changed does.
		"fewer entries": {
			before: fields("a: {type: string}, b: {type: string}"), after: "{type: object, maxProperties: 1, properties: {a: {type: string}, b: {type: string}}}", objects: []string{"{spec: {a: x}}", "{spec: {a: x, b: z}}"},
			changes: "objects spec of v1: its maxProperties is 1", losses: "spec: it has too many entries, in team/o1",
		},
		"keys of a list": {
			before:  fields("l: {type: array, items: {type: object, required: [k], properties: {k: {type: string}}}}"),
			after:   fields("l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}"),
			objects: []string{"{spec: {l: [{k: a}, {k: b}]}}", "{spec: {l: [{k: a}, {k: a}]}}"},
			changes: "objects spec.l of v1: its items must differ in k", losses: "spec.l[*]: it has the same item twice, in team/o1",
		},
		"a set": {
			before: fields("l: {type: array, items: {type: string}}"), after: fields("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), objects: []string{"{spec: {l: [a, a]}}"},
			changes: "objects spec.l of v1: its items must differ", losses: "spec.l[*]: it has the same item twice, in team/o0",
		},
		"a list of anything": {
			before: fields("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), after: fields("l: {type: array, items: {type: string}}"), objects: []string{"{spec: {l: [a]}}"},
			changes: "ok spec.l of v1: its items need not differ",
		},
		"a validation": {
			before: fields("num: {type: integer}, o: {type: integer}"), after: "{type: object, x-kubernetes-validations: [{rule: self.num > 3}], properties: {num: {type: integer, x-kubernetes-validations: [{rule: self < 9}]}, o: {type: integer}}}",
			objects: []string{"{spec: {num: 5}}", "{spec: {num: 1}}", "{spec: {num: 10}}"},
			changes: "objects spec of v1: it must be true: self.num > 3\nobjects spec.num of v1: it must be true: self < 9", losses: "spec: a validation is not true, in team/o1",
		},
		"a validation that goes": {
			before: "{type: object, x-kubernetes-validations: [{rule: self.num > 3, message: old}, {rule: self.num > 2}], properties: {num: {type: integer}}}",
			after:  "{type: object, x-kubernetes-validations: [{rule: self.num > 3, message: new}], properties: {num: {type: integer}}}", objects: []string{"{spec: {num: 5}}"},
			changes: "ok spec of v1: it need not be true: self.num > 2",
		},
		"immutable": {
			before: fields("num: {type: integer}"), after: fields("num: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}"), objects: []string{"{spec: {num: 5}}"},
			changes: "objects spec.num of v1: it must be true: self == oldSelf",
		},
		"a map becomes an object": {
			before: fields("m: {type: object, additionalProperties: {type: string}}"), after: fields("m: {type: object, properties: {x: {type: string}}}"), objects: []string{"{spec: {m: {x: a}}}", "{spec: {m: {w: a}}}"},
			changes: "objects spec.m[*] of v1: entries of any name are no longer allowed", losses: "spec.m.w: the value is dropped, in team/o1",
		},
		"an object becomes a map": {
			before: fields("m: {type: object, properties: {x: {type: string}}}"), after: fields("m: {type: object, additionalProperties: {type: integer}}"), objects: []string{"{spec: {m: {x: a}}}"},
			changes: "objects spec.m.x of v1: its type is integer, and was string", losses: "spec.m.x: it must be of type integer, and is of type string, in team/o0",
		},
		"one of several": {
			before: fields("a: {type: string}, b: {type: string}"), after: "{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}", objects: []string{"{spec: {a: x}}", "{spec: {a: x, b: z}}"},
			changes: "objects spec of v1: the schema changes", losses: "spec: it must validate one and only one schema (oneOf). Found 2 valid alternatives, in team/o1",
		},
		"what was wrong before": {
			before: "{type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}", after: "{type: object, required: [a], properties: {a: {type: string}}}", objects: []string{"{spec: {c: x}}", "{spec: {b: x}}"},
			changes: "objects spec.b of v1: the field is removed", losses: "spec.b: the value is dropped, in team/o1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, losses := shown(t, definition(t, walls, version("v1", stored, c.before)), definition(t, walls, version("v1", stored, c.after)), c.objects)
			if changes != c.changes {
				t.Errorf("the changes are\n%s\nwant\n%s", changes, c.changes)
			}
			if losses != c.losses {
				t.Errorf("the losses are\n%s\nwant\n%s", losses, c.losses)
			}
			if losses != "" && !strings.Contains(changes, "objects ") {
				t.Error("objects lose something by changes that do no harm")
			}
		})
	}
}

// Changes of the kind as a whole, and of its versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	const a, ab = "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}, b: {type: string}}}"
	const through = ", metadata: {managedFields: [{manager: kubectl, operation: Update, apiVersion: example.com/v1beta1, fieldsType: FieldsV1, fieldsV1: {}}]}}"
	for name, c := range map[string]struct {
		before, after   *unstructured.Unstructured
		objects         []string
		changes, losses string
	}{
		"another scope": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, "scope: Cluster, names: {kind: Wall, plural: walls}", version("v1", stored, a)),
			changes: "never scope is Cluster, and was Namespaced",
		},
		"another kind": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, "scope: Namespaced, names: {kind: Wand, listKind: WallList, plural: walls, singular: wall}", version("v1", stored, a)),
			changes: "never the kind is Wand, and was Wall",
		},
		"other names": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, "scope: Namespaced, names: {kind: Wall, plural: walls, shortNames: [w], categories: [all]}", version("v1", stored, a)),
			changes: "ok shortNames are [w], and were []\nok categories are [all], and were []",
		},
		"a new version": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v1", stored, a), version("v2", served, ab)),
			objects: []string{"{spec: {a: x}}"}, changes: "ok v2: the version is new",
		},
		"objects are stored in another version, which has all fields": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v1", served, a), version("v2", stored, ab)),
			objects: []string{"{spec: {a: x}}"}, changes: "ok v2: the version is new\nobjects v2: objects are stored in it, and were in v1",
		},
		"objects are stored in another version, which lacks a field": {
			before: definition(t, walls, version("v1", stored, ab)), after: definition(t, walls, version("v1", served, ab), version("v2", stored, a)),
			objects: []string{"{spec: {a: x}}", "{spec: {b: x}}"}, changes: "ok v2: the version is new\nobjects v2: objects are stored in it, and were in v1",
			losses: "spec.b: the value is dropped, in team/o1",
		},
		"a version that goes": {
			before: definition(t, walls, version("v1", stored, a), version("v1beta1", served, a)), after: definition(t, walls, version("v1", stored, a)),
			objects: []string{"{spec: {a: x}}", "{spec: {a: x}" + through}, changes: "users v1beta1: the version is removed",
			losses: "v1beta1: the version is removed, and objects were written through it, in team/o1\nv1beta1: the version is removed, and whoever reads through it fails, in team/o0",
		},
		"a version that nobody could use": {
			before: definition(t, walls, version("v1", stored, a), version("v0", "served: false, storage: false", a)), after: definition(t, walls, version("v1", stored, a)),
			objects: []string{"{spec: {a: x}}"}, changes: "ok v0: the version is removed, and was not served",
		},
		"a version that is not served": {
			before: definition(t, walls, version("v1", stored, a), version("v1beta1", served, a)), after: definition(t, walls, version("v1", stored, a), version("v1beta1", "served: false, storage: false", a)),
			objects: []string{"{spec: {a: x}}"}, changes: "users v1beta1: the version is no longer served",
			losses: "v1beta1: the version is no longer served, and whoever reads through it fails, in team/o0",
		},
		"a version that objects are stored in": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v2", stored, a)),
			changes: "never v1: the version is removed, and objects may still be stored in it: status.storedVersions has it\nok v2: the version is new\nobjects v2: objects are stored in it, and were in v1",
		},
		"no subresource": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, strings.Replace(version("v1", stored, a), "{status: {}}", "{}", 1)),
			objects: []string{"{spec: {a: x}}"}, changes: "users v1: the subresource status is removed", losses: "v1: the subresource status is removed, in team/o0",
		},
		"a status that goes": { // o0 has it from a rule, and o1 from somebody else
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, strings.Replace(version("v1", stored, a), "{seen: {type: string}}", "{}", 1)),
			objects: []string{
				"{status: {seen: x}, metadata: {managedFields: [{manager: own, operation: Apply, fieldsType: FieldsV1, fieldsV1: {'f:status': {'f:seen': {}}}}]}}",
				"{status: {seen: x}, metadata: {managedFields: [{manager: other, operation: Apply, fieldsType: FieldsV1, fieldsV1: {'f:status': {'f:seen': {}}}}]}}",
			}, changes: "objects status.seen of v1: the field is removed", losses: "status.seen: the value is dropped, in team/o1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, losses := shown(t, c.before, c.after, c.objects)
			if changes != c.changes {
				t.Errorf("the changes are\n%s\nwant\n%s", changes, c.changes)
			}
			if losses != c.losses {
				t.Errorf("the losses are\n%s\nwant\n%s", losses, c.losses)
			}
		})
	}
}

// A token is that of one change at one time.
func TestToken(t *testing.T) {
	t.Parallel()
	const a, b = "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {b: {type: string}}}"
	token := func(before, after *unstructured.Unstructured) string {
		t.Helper()
		c, err := change.Compare(before, after)
		if err != nil {
			t.Fatal(err)
		}
		token, err := c.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	of := func(spec string) *unstructured.Unstructured { return definition(t, walls, version("v1", stored, spec)) }
	first, later, other := of(a), of(a), of(a)
	later.SetGeneration(2)
	other.SetUID("v")
	seen := map[string]string{}
	for name, is := range map[string]string{
		"one": token(first, of(b)), "another end": token(first, of("{type: object}")), "another start": token(of("{type: object}"), of(b)),
		"another time": token(later, of(b)), "another definition": token(other, of(b)),
	} {
		if before, ok := seen[is]; ok {
			t.Errorf("%s and %s have one token", name, before)
		}
		seen[is] = name
	}
	if token(first, of(b)) != token(of(a), of(b)) {
		t.Error("a change has two tokens")
	}
}

// Each kind of change does as much harm as it can, and no more is asked of the objects.
func TestRisks(t *testing.T) {
	t.Parallel()
	// one is a version with more of its own, and a schema for spec.f.
	one := func(more, field string) string {
		return "{name: v1, served: true, storage: true" + more + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: " + field + "}}}}}}"
	}
	const text, number = "{type: string}", "{type: integer}"
	plain := one("", text)
	for name, c := range map[string]struct{ before, after, beforeNames, afterNames, want string }{
		"singular":               {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: walls, singular: mur}", want: "ok singular is mur, and was wall"},
		"plural":                 {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: murs}", want: "never the resource is murs.example.com, and was walls.example.com"},
		"short names":            {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: walls, shortNames: [w]}", want: "ok shortNames are [w], and were []"},
		"unknown fields":         {before: plain, after: plain, beforeNames: walls + ", preserveUnknownFields: true", want: "objects unknown fields are no longer kept"},
		"served":                 {before: strings.Replace(plain, "served: true", "served: false", 1), after: plain, want: "ok v1: the version is served"},
		"deprecated":             {before: plain, after: one(", deprecated: true", text), want: "ok v1: deprecated is true"},
		"columns":                {before: plain, after: one(", additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.f}]", text), want: "ok v1: the columns of kubectl change"},
		"selectable fields":      {before: one(", selectableFields: [{jsonPath: .spec.f}]", text), after: plain, want: "users v1: the selectable fields change"},
		"a status":               {before: plain, after: one(", subresources: {status: {}}", text), want: "users v1: status is a subresource: other writes of it are ignored"},
		"no status":              {before: one(", subresources: {status: {}}", text), after: plain, want: "users v1: the subresource status is removed"},
		"a scale":                {before: plain, after: one(", subresources: {scale: {specReplicasPath: .spec.f, statusReplicasPath: .status.f}}", text), want: "ok v1: the subresource scale changes"},
		"no scale":               {before: one(", subresources: {scale: {specReplicasPath: .spec.f, statusReplicasPath: .status.f}}", text), after: plain, want: "users v1: the subresource scale is removed"},
		"less than its bound":    {before: one("", "{type: integer, maximum: 5}"), after: one("", "{type: integer, maximum: 5, exclusiveMaximum: true}"), want: "objects spec.f of v1: exclusiveMaximum is true"},
		"its bound, too":         {before: one("", "{type: integer, minimum: 5, exclusiveMinimum: true}"), after: one("", "{type: integer, minimum: 5}"), want: "ok spec.f of v1: exclusiveMinimum is false"},
		"a multiple":             {before: one("", number), after: one("", "{type: integer, multipleOf: 2}"), want: "objects spec.f of v1: it must be a multiple of 2"},
		"no multiple":            {before: one("", "{type: integer, multipleOf: 2}"), after: one("", number), want: "ok spec.f of v1: it need not be a multiple of 2"},
		"null":                   {before: plain, after: one("", "{type: string, nullable: true}"), want: "ok spec.f of v1: null is allowed"},
		"no null":                {before: one("", "{type: string, nullable: true}"), after: plain, want: "objects spec.f of v1: null is no longer allowed"},
		"an atomic map":          {before: one("", "{type: object, additionalProperties: {type: string}}"), after: one("", "{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}"), want: "ok spec.f of v1: it is applied as atomic, and was as granular"},
		"a default":              {before: plain, after: one("", "{type: string, default: x}"), want: `ok spec.f of v1: its default is "x"`},
		"a whole object":         {before: one("", "{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: one("", "{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}"), want: "objects spec.f of v1: whether it is a whole object of Kubernetes changes"},
		"unique items":           {before: one("", "{type: array, items: {type: string}}"), after: one("", "{type: array, items: {type: string}, x-kubernetes-list-type: set}"), want: "objects spec.f of v1: its items must differ"},
		"uniqueItems":            {before: one("", "{type: array, items: {type: string}}"), after: one("", "{type: array, items: {type: string}, uniqueItems: true}"), want: "objects spec.f of v1: its items must differ"},
		"no unique items":        {before: one("", "{type: array, items: {type: string}, x-kubernetes-list-type: set}"), after: one("", "{type: array, items: {type: string}}"), want: "ok spec.f of v1: its items need not differ"},
		"entries with a schema":  {before: one("", "{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: one("", "{type: object, additionalProperties: {type: string}, x-kubernetes-preserve-unknown-fields: true}"), want: "objects spec.f[*] of v1: entries have a schema, and could be anything"},
		"something else":         {before: plain, after: one("", "{type: string, not: {enum: [x]}}"), want: "objects spec.f of v1: the schema changes"},
		"a wider type":           {before: one("", number), after: one("", "{type: number}"), want: "ok spec.f of v1: its type is number, and was integer"},
		"a type that is another": {before: plain, after: one("", number), want: "objects spec.f of v1: its type is integer, and was string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, names := range []*string{&c.beforeNames, &c.afterNames} {
				if *names == "" {
					*names = walls
				}
			}
			if got, _ := shown(t, definition(t, c.beforeNames, c.before), definition(t, c.afterNames, c.after), nil); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Of many objects and many losses, the first are named, and all are counted.
func TestManyLosses(t *testing.T) {
	t.Parallel()
	const fields = 105
	var properties, values []string
	for i := range fields {
		properties, values = append(properties, fmt.Sprintf("f%03d: {type: string}", i)), append(values, fmt.Sprintf("f%03d: x", i))
	}
	before := definition(t, walls, version("v1", stored, "{type: object, properties: {"+strings.Join(properties, ", ")+"}}"))
	after := definition(t, walls, version("v1", stored, "{type: object}"))
	whole := "{spec: {" + strings.Join(values, ", ") + "}}"
	_, losses := shown(t, before, after, []string{whole, whole, whole, whole, whole, whole, whole, "{spec: {}}"})
	lines := strings.Split(losses, "\n")
	if want := "spec.f"; len(lines) != 101 || !strings.HasPrefix(lines[0], want) || !strings.HasSuffix(lines[0], ": the value is dropped, in team/o0, team/o1, team/o2, team/o3, team/o4 and 2 more") || !strings.HasSuffix(lines[100], " more") || strings.Contains(lines[100], "team/") {
		t.Errorf("%d lines, the first %q, the last %q", len(lines), lines[0], lines[len(lines)-1])
	}
	c, err := change.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	survey, err := c.Survey(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{whole, "{spec: {}}", whole} {
		if err := survey.Add(t.Context(), object(t, i, text)); err != nil {
			t.Fatal(err)
		}
	}
	if objects, damaged := survey.Counts(); objects != 3 || damaged != 2 {
		t.Errorf("%d of %d objects lose something, want 2 of 3", damaged, objects)
	}
}

// A default that goes is looked for in the items of lists and in the entries of maps.
func TestDefaultsThatGo(t *testing.T) {
	t.Parallel()
	spec := func(field string) string {
		return "{type: object, properties: {l: {type: array, items: {type: object, properties: {a: " + field + "}}}, m: {type: object, additionalProperties: {type: object, properties: {a: " + field + "}}}}}"
	}
	before := definition(t, walls, version("v1", stored, spec("{type: string, default: x}")))
	after := definition(t, walls, version("v1", stored, spec("{type: string}")))
	for text, want := range map[string]string{
		"{spec: {l: [{a: y}, {a: x}]}}":         "spec.l[*].a: the value may be no more than the default, which goes, in team/o0",
		"{spec: {m: {k: {a: y}, n: {a: x}}}}":   "spec.m[*].a: the value may be no more than the default, which goes, in team/o0",
		"{spec: {l: [{a: y}], m: {k: {a: z}}}}": "",
		"{spec: {}}":                            "",
	} {
		if _, losses := shown(t, before, after, []string{text}); losses != want {
			t.Errorf("%s loses %q, want %q", text, losses, want)
		}
	}
}

// A version that a webhook converts has other fields than the one that is read.
func TestVersionsOfAWebhook(t *testing.T) {
	t.Parallel()
	const both, one = "{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, properties: {a: {type: string}}}"
	const webhook = ", conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}"
	for conversion, want := range map[string]string{"": "spec.b: the value is dropped, in team/o0", webhook: ""} {
		before := definition(t, walls+conversion, version("v1", stored, both), version("v2", served, both))
		after := definition(t, walls+conversion, version("v1", stored, both), version("v2", served, one))
		if _, losses := shown(t, before, after, []string{"{spec: {b: x}}"}); losses != want {
			t.Errorf("with %q the object loses %q, want %q", conversion, losses, want)
		}
	}
}

package definitions_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/restmapping/definitions"
)

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
	c, err := definitions.Compare(before, after)
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
	survey, err := c.Survey()
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
		before, after string
		objects       []string
		losses        string
	}{
		"nothing": {before: fields("a: {type: string}"), after: fields("a: {type: string}"), objects: []string{filled}},
		"texts for people": {
			before: fields("a: {type: string, description: old, title: a}"), after: fields("a: {type: string, description: new, example: b}"), objects: []string{"{spec: {a: b}}"},
		},
		"a field that goes": {
			before: fields("a: {type: string}, b: {type: string}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: b}}", "{spec: {b: x}}", "{spec: {a: x, b: z}}"},
			losses: "spec.b: the value is dropped, in team/o1, team/o2",
		},
		"a field that goes and nobody has": {
			before: fields("a: {type: string}, b: {type: string}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: b}}"},
		},
		"no null": {
			before: fields("a: {type: string, nullable: true}"), after: fields("a: {type: string}"), objects: []string{"{spec: {a: null}}", "{spec: {a: b}}"},
			losses: "spec.a: the value is dropped, in team/o0",
		},
		"a required field with a default": {
			before: fields("a: {type: string}"), after: "{type: object, required: [b], properties: {a: {type: string}, b: {type: string, default: x}}}", objects: []string{"{spec: {a: b}}"},
		},
		"another default": {
			before: fields("num: {type: integer, default: 1}"), after: fields("num: {type: integer, default: 2}"), objects: []string{"{spec: {num: 1}}"},
		},
		"a default that is one entry too many": {
			before: fields("o: {type: object, maxProperties: 1, properties: {p: {type: string}, q: {type: string}}}"), after: fields("o: {type: object, maxProperties: 1, properties: {p: {type: string}, q: {type: string, default: x}}}"),
			objects: []string{"{spec: {o: {p: a}}}", "{spec: {o: {q: y}}}"},
			losses:  "spec.o: it has too many entries, in team/o0",
		},
		"a new field whose default a validation forbids": {
			before:  fields("o: {type: object, x-kubernetes-validations: [{rule: '!has(self.q) || !has(self.p)'}], properties: {p: {type: string}, q: {type: string}}}"),
			after:   fields("o: {type: object, x-kubernetes-validations: [{rule: '!has(self.q) || !has(self.p)'}], properties: {p: {type: string}, q: {type: string, default: x}, r: {type: string, default: z}}}"),
			objects: []string{"{spec: {o: {p: a}}}", "{spec: {o: {q: y}}}"},
			losses:  "spec.o: a validation is not true, in team/o0",
		},
		"a default around others": {
			before: fields("o: {type: object, properties: {p: {type: integer, default: 1}}}"), after: fields("o: {type: object, default: {}, properties: {p: {type: integer, default: 1}}}"), objects: []string{"{spec: {}}", "{spec: {o: {p: 2}}}"},
		},
		"one of several": {
			before: fields("a: {type: string}, b: {type: string}"), after: "{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}", objects: []string{"{spec: {a: x}}", "{spec: {a: x, b: z}}"},
			losses: "spec: it must validate one and only one schema (oneOf). Found 2 valid alternatives, in team/o1",
		},
		"what was wrong before": {
			before: "{type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}", after: "{type: object, required: [a], properties: {a: {type: string}}}", objects: []string{"{spec: {c: x}}", "{spec: {b: x}}"},
			losses: "spec.b: the value is dropped, in team/o1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, losses := shown(t, definition(t, walls, version("v1", stored, c.before)), definition(t, walls, version("v1", stored, c.after)), c.objects)
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
			changes: "never names.kind is Wand, and was Wall",
		},
		"other names": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, "scope: Namespaced, names: {kind: Wall, plural: walls, shortNames: [w], categories: [all]}", version("v1", stored, a)),
			changes: "ok names.categories is new\nok names.shortNames is new",
		},
		"a new version": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v1", stored, a), version("v2", served, ab)),
			objects: []string{"{spec: {a: x}}"}, changes: "ok version v2 is new",
		},
		"objects are stored in another version, which has all fields": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v1", served, a), version("v2", stored, ab)),
			objects: []string{"{spec: {a: x}}"}, changes: "objects storage of v1 is false, and was true\nok version v2 is new",
		},
		"objects are stored in another version, which lacks a field": {
			before: definition(t, walls, version("v1", stored, ab)), after: definition(t, walls, version("v1", served, ab), version("v2", stored, a)),
			objects: []string{"{spec: {a: x}}", "{spec: {b: x}}"}, changes: "objects storage of v1 is false, and was true\nok version v2 is new",
			losses: "spec.b: the value is dropped, in team/o1",
		},
		"a version that goes": {
			before: definition(t, walls, version("v1", stored, a), version("v1beta1", served, a)), after: definition(t, walls, version("v1", stored, a)),
			objects: []string{"{spec: {a: x}}", "{spec: {a: x}" + through}, changes: "users version v1beta1 is removed",
			losses: "version v1beta1 is removed, and objects were written through it, in team/o1\nversion v1beta1 is removed, and whoever reads through it fails, in team/o0",
		},
		"a version that nobody could use": {
			before: definition(t, walls, version("v1", stored, a), version("v0", "served: false, storage: false", a)), after: definition(t, walls, version("v1", stored, a)),
			objects: []string{"{spec: {a: x}}"}, changes: "ok version v0 is removed",
		},
		"a version that is not served": {
			before: definition(t, walls, version("v1", stored, a), version("v1beta1", served, a)), after: definition(t, walls, version("v1", stored, a), version("v1beta1", "served: false, storage: false", a)),
			objects: []string{"{spec: {a: x}}"}, changes: "users served of v1beta1 is false, and was true",
			losses: "served of v1beta1 is false, and was true, and whoever reads through it fails, in team/o0",
		},
		"a version that objects are stored in": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, version("v2", stored, a)),
			changes: "never version v1 is removed\nok version v2 is new",
		},
		"no subresource": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, strings.Replace(version("v1", stored, a), "{status: {}}", "{}", 1)),
			objects: []string{"{spec: {a: x}}"}, changes: "users subresources.status of v1 is removed", losses: "subresources.status of v1 is removed, in team/o0",
		},
		"a status that goes": {
			before: definition(t, walls, version("v1", stored, a)), after: definition(t, walls, strings.Replace(version("v1", stored, a), "{seen: {type: string}}", "{}", 1)),
			objects: []string{"{status: {seen: x}}"}, changes: "objects status.seen of v1 is removed",
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
		c, err := definitions.Compare(before, after)
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
		"singular":               {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: walls, singular: mur}", want: "ok names.singular is mur, and was wall"},
		"plural":                 {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: murs}", want: "never names.plural is murs, and was walls"},
		"short names":            {before: plain, after: plain, afterNames: "scope: Namespaced, names: {kind: Wall, plural: walls, shortNames: [w]}", want: "ok names.shortNames is new"},
		"unknown fields":         {before: plain, after: plain, beforeNames: walls + ", preserveUnknownFields: true", want: "objects preserveUnknownFields is removed"},
		"served":                 {before: strings.Replace(plain, "served: true", "served: false", 1), after: plain, want: "ok served of v1 is true, and was false"},
		"deprecated":             {before: plain, after: one(", deprecated: true", text), want: "ok deprecated of v1 is new"},
		"columns":                {before: plain, after: one(", additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.f}]", text), want: "ok additionalPrinterColumns of v1 is new"},
		"selectable fields":      {before: one(", selectableFields: [{jsonPath: .spec.f}]", text), after: plain, want: "users selectableFields of v1 is removed"},
		"a status":               {before: plain, after: one(", subresources: {status: {}}", text), want: "users subresources.status of v1 is new"},
		"no status":              {before: one(", subresources: {status: {}}", text), after: plain, want: "users subresources.status of v1 is removed"},
		"a scale":                {before: plain, after: one(", subresources: {scale: {specReplicasPath: .spec.f, statusReplicasPath: .status.f}}", text), want: "ok subresources.scale of v1 is new"},
		"no scale":               {before: one(", subresources: {scale: {specReplicasPath: .spec.f, statusReplicasPath: .status.f}}", text), after: plain, want: "users subresources.scale of v1 is removed"},
		"no null":                {before: one("", "{type: string, nullable: true}"), after: plain, want: `objects spec.f.nullable of v1 is removed`},
		"a default":              {before: plain, after: one("", "{type: string, default: x}"), want: `objects spec.f.default of v1 is new`},
		"entries with a schema":  {before: one("", "{type: object, x-kubernetes-preserve-unknown-fields: true}"), after: one("", "{type: object, additionalProperties: {type: string}, x-kubernetes-preserve-unknown-fields: true}"), want: `objects spec.f[*] of v1 is new`},
		"something else":         {before: plain, after: one("", "{type: string, not: {enum: [x]}}"), want: `objects spec.f.not of v1 is new`},
		"a validation":           {before: plain, after: one("", "{type: string, x-kubernetes-validations: [{rule: self < 'x', message: bad}]}"), want: `objects spec.f.x-kubernetes-validations of v1 is new`},
		"a wider type":           {before: one("", number), after: one("", "{type: number}"), want: `objects spec.f.type of v1 is number, and was integer`},
		"a type that is another": {before: plain, after: one("", number), want: `objects spec.f.type of v1 is integer, and was string`},
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
	c, err := definitions.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	survey, err := c.Survey()
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

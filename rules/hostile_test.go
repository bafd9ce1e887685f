package rules

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// many repeats a line with the numbers from 0 in the place of #.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// hostile are documents that could take long to read.
func hostile() map[string]string {
	cm := "template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x#}}"
	return map[string]string{
		"broken at the end":   ruleFor("  status:\n" + many(40000, "    a#: {b: \"${parent.c}\"}\n") + "    x: [\n"),
		"broken at the start": "a: [\n" + many(60000, "b#: c, d\n"),
		"broken in one line":  "a: " + strings.Repeat("[x, ", 250000),
		"broken quote":        "a: \"\n" + many(60000, "b#: c, d\n"),
		"broken documents":    many(50000, "---\na: [\n"),
		"empty documents":     strings.Repeat("---\n", 250000),
		"documents":           many(50000, "---\nkind: X\n"),
		"unknown fields":      ruleFor(many(60000, "  a#: 1\n")),
		"unknown spec fields": ruleFor("  children:\n" + many(20000, "  - {id: a#, x: 1, "+cm+"}\n")),
		"duplicate keys":      ruleFor("  status:\n" + strings.Repeat("    a: 1\n", 80000)),
		"duplicate ids":       ruleFor("  children:\n" + strings.Repeat("  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n", 10000)),
		"same object":         ruleFor("  children:\n" + many(10000, "  - {id: a#, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n")),
		"children":            ruleFor("  children:\n" + many(10000, "  - {id: a#, "+cm+"}\n")),
		"children each":       ruleFor("  children:\n  - {id: a0, " + strings.ReplaceAll(cm, "#", "") + "}\n" + many(8000, "  - {id: b#, dependsOn: [a0], "+cm+"}\n")),
		"variables":           ruleFor("  variables:\n" + many(20000, "  - {name: a#, value: 1}\n")),
		"variable chain": ruleFor("  variables:\n  - {name: a-1, value: 1}\n  - {name: a0, value: 1}\n" + func() string {
			var b strings.Builder
			for i := range 8000 {
				fmt.Fprintf(&b, "  - {name: a%d, value: \"${variables.a%d}\"}\n", i+1, i)
			}
			return b.String()
		}()),
		"variables read twice": ruleFor("  lookups: [{id: s, apiVersion: v1, kind: ConfigMap, name: s}]\n  patches: [{id: a, template: {metadata: {labels: {a: \"${variables.a22}\"}}}}]\n  variables:\n  - {name: a0, value: \"${lookups.s.data.x + parent.metadata.name}\"}\n" + func() string {
			var b strings.Builder
			for i := range 22 {
				fmt.Fprintf(&b, "  - {name: a%d, value: \"${variables.a%d + variables.a%d}\"}\n", i+1, i, i)
			}
			return b.String()
		}()),
		"lookups read by many ways": ruleFor("  lookups:\n  - {id: a0, apiVersion: v1, kind: ConfigMap, name: s}\n  - {id: b0, apiVersion: v1, kind: ConfigMap, name: s}\n" + func() string {
			var b strings.Builder
			for i := range 22 {
				for _, id := range []string{"a", "b"} {
					fmt.Fprintf(&b, "  - {id: %s%d, apiVersion: v1, kind: ConfigMap, when: \"${parent.spec.x > %d}\", name: \"${lookups.a%d.data.x + lookups.b%d.data.x}\"}\n", id, i+1, i, i, i)
				}
			}
			return b.String()
		}()),
		"unknown variables":          ruleFor("  variables:\n" + many(8000, "  - {name: abcdef#, value: \"${variables.abcdeg#}\"}\n")),
		"unknown names":              ruleFor("  status:\n" + many(20000, "    a#: ${parnt.x}\n")),
		"unknown functions":          ruleFor("  status:\n" + many(20000, "    a#: ${foo#(1)}\n")),
		"expressions in text":        ruleFor("  status:\n    a: \"" + strings.Repeat("x ${parent.a} ", 60000) + "\"\n"),
		"expressions in a block":     ruleFor("  status:\n    a: |\n" + strings.Repeat("      x ${parent.a} \n", 40000)),
		"bad expressions in a block": ruleFor("  status:\n    a: |\n" + strings.Repeat("      x ${parnt.a} \n", 40000)),
		"long expression":            ruleFor("  status:\n    a: ${" + strings.Repeat("1 + ", 200000) + "1}\n"),
		"long line":                  ruleFor("  status: {" + strings.Repeat("a: ${b}, ", 90000) + "}\n"),
		"syntax errors":              ruleFor("  status:\n" + many(30000, "    a#: ${1 +}\n")),
		"one expression of errors":   ruleFor("  status:\n    a: ${[" + strings.Repeat("1 1, ", 10000) + "]}\n"),
		"brackets":                   ruleFor("  status:\n    a: ${" + strings.Repeat("(", 30000) + "}\n"),
		"quotes":                     ruleFor("  status:\n    a: ${'" + strings.Repeat("a", 500000) + "' + \n}\n"),
		"unclosed":                   ruleFor("  status:\n    a: '" + strings.Repeat("${", 400000) + "'\n"),
		"unclosed items":             ruleFor("  status:\n    a: [" + strings.Repeat("\"${\", ", 60000) + "]\n"),
		"dollars":                    ruleFor("  status:\n    a: '" + strings.Repeat("$${", 300000) + "'\n"),
		"nesting":                    "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"block nesting":              strings.Repeat("- ", 9000) + "x",
		"many deep":                  "a:\n" + many(2000, "- "+strings.Repeat("[", 150)+strings.Repeat("]", 150)+"\n"),
		"aliases": ruleFor("  status:\n    a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n" + func() string {
			var b strings.Builder
			for i := range 60 {
				fmt.Fprintf(&b, "    a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i)
			}
			return b.String()
		}()),
		"many aliases":                ruleFor("  status:\n    a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n    b: [" + strings.Repeat("*a, ", 20000) + "]\n"),
		"alias of a wrong expression": ruleFor("  status:\n    a: &a [\"${x}\", \"${y}\"]\n    b: [" + strings.Repeat("*a, ", 20000) + "]\n"),
		"merges":                      ruleFor("  status:\n    a: &a {" + many(2000, "k#: 1, ") + "}\n    b:\n" + many(5000, "    - {<<: *a}\n")),
		"merge chain": ruleFor("  status:\n    a0: &a0 {x0: 1}\n" + func() string {
			var b strings.Builder
			for i := range 3000 {
				fmt.Fprintf(&b, "    a%d: &a%d {<<: *a%d, x%d: 1}\n", i+1, i+1, i, i+1)
			}
			return b.String()
		}()),
		"bad scalars":      ruleFor("  status:\n" + many(40000, "    a#: 0x\n    b#: .nan\n")),
		"carriage returns": strings.Repeat("\r", 1000000),
		"tabs":             strings.Repeat("\t\n", 500000),
		"a ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {kanon.dev/rules: \"true\"}}\ndata:\n  a.yaml: |\n" + func() string {
			return "    " + strings.ReplaceAll(ruleFor("  status:\n"+many(30000, "    a#: ${parnt.x}\n")), "\n", "\n    ")
		}(),
		"a quoted ConfigMap":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {kanon.dev/rules: \"true\"}}\ndata:\n  a.yaml: \"" + strings.ReplaceAll(strings.ReplaceAll(ruleFor("  children:\n"+many(8000, "  - {id: a#, x: y, "+cm+"}\n")), "\n", "\\n"), "\"", "'") + "\"\n",
		"a ConfigMap of children":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {kanon.dev/rules: \"true\"}}\ndata:\n  a.yaml: |\n" + "    " + strings.ReplaceAll(ruleFor("  children:\n"+many(8000, "  - {id: a#, "+cm+"}\n")), "\n", "\n    "),
		"the same expression in lists": ruleFor("  status:\n    a: [" + strings.Repeat("'${parent.a}', ", 50000) + "]\n"),
		"comparisons":                  ruleFor("  status:\n    a: ${" + strings.Repeat("parent.a == 'b' && ", 2500) + "true}\n"),
		"ignore":                       ruleFor("  children:\n  - id: a\n    ignore: [" + many(20000, "spec.a#, ") + "]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"),
		"lookups":                      ruleFor("  lookups:\n" + many(10000, "  - {id: a#, apiVersion: v1, kind: ConfigMap, name: x}\n")),
		"conditions":                   ruleFor("  conditions:\n" + many(10000, "  - {type: A#, status: '${true}', reason: B, message: c}\n")),
		"patches":                      ruleFor("  patches:\n" + many(8000, "  - {id: a#, template: {metadata: {labels: {a#: b}}}}\n")),
	}
}

// Whatever a document is made of, reading it takes no more than in proportion to its
// length, and what is found is told in so many findings at the most.
func TestHostileDocuments(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var found diagnostic.Findings
			made := allocates(func() {
				docs, findings := syntax.DecodeManifest("f", []byte(text))
				most := len(findings)
				for _, r := range slices.Concat(docs.Rules, docs.Partial) {
					_, more := Compile(r, testKinds{}.options())
					findings = append(findings, more...)
					most = max(most, len(more))
				}
				if most > 202 {
					t.Errorf("%d findings", most)
				}
				found = findings
				if err := (diagnostic.Printer{}).Print(io.Discard, findings); err != nil {
					t.Error(err)
				}
			})
			if most := int64(60<<20 + 600*len(text)); made > most { // with the race detector; half of it without
				t.Errorf("%d bytes were allocated for %d, want %d at the most", made, len(text), most)
			}
			for _, f := range found {
				if len(f.Message)+len(f.Hint) > 4000 {
					t.Errorf("a message of %d bytes: %.200s", len(f.Message), f.Message)
				}
			}
		})
	}
}

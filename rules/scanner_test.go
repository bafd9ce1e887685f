package rules

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
)

func TestScan(t *testing.T) {
	t.Parallel()
	type parts = []part
	for name, test := range map[string]struct {
		in   string
		want parts
	}{
		"text":                {"a $ {b} $x", parts{{text: "a $ {b} $x"}}},
		"empty":               {"", nil},
		"whole":               {"${a}", parts{{expr: true, text: "a", offset: 2}}},
		"blanks":              {"${ a }", parts{{expr: true, text: "a", offset: 3}}},
		"around":              {"x${a}y", parts{{text: "x"}, {expr: true, text: "a", offset: 3}, {text: "y", offset: 5}}},
		"two":                 {"${a}${b}", parts{{expr: true, text: "a", offset: 2}, {expr: true, text: "b", offset: 6}}},
		"literal":             {"$${a}", parts{{text: "${a}"}}},
		"literal and dollar":  {"$$${a}", parts{{text: "$${a}"}}},
		"dollar before":       {"$$ ${a}", parts{{text: "$$ "}, {expr: true, text: "a", offset: 5}}},
		"nested braces":       {"${ {'a': {}} }x", parts{{expr: true, text: "{'a': {}}", offset: 3}, {text: "x", offset: 14}}},
		"brace in a string":   {`${"}"}`, parts{{expr: true, text: `"}"`, offset: 2}}},
		"single quotes":       {`${'}'}`, parts{{expr: true, text: `'}'`, offset: 2}}},
		"escaped quote":       {`${"\"}"}`, parts{{expr: true, text: `"\"}"`, offset: 2}}},
		"raw string":          {`${r"\"}`, parts{{expr: true, text: `r"\"`, offset: 2}}},
		"raw bytes":           {`${bR'\'}`, parts{{expr: true, text: `bR'\'`, offset: 2}}},
		"a name before":       {`${bar"\"}"}`, parts{{expr: true, text: `bar"\"}"`, offset: 2}}},
		"triple quotes":       {`${"""a"}"b"""}`, parts{{expr: true, text: `"""a"}"b"""`, offset: 2}}},
		"raw triple quotes":   {`${r'''\'}'''}`, parts{{expr: true, text: `r'''\'}'''`, offset: 2}}},
		"comment":             {"${a // }\n}", parts{{expr: true, text: "a // }", offset: 2}}},
		"slashes in a string": {`${"http://a"}`, parts{{expr: true, text: `"http://a"`, offset: 2}}},
		"escaped name":        {"${a.`}`}", parts{{expr: true, text: "a.`}`", offset: 2}}},
		"spread":              {"${...a}", parts{{expr: true, text: "a", offset: 5, spread: true}}},
		"spread with blanks":  {"${ ... a }", parts{{expr: true, text: "a", offset: 7, spread: true}}},
		"several lines":       {"${\n  a\n}\n", parts{{expr: true, text: "a", offset: 5}, {text: "\n", offset: 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := scan(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(part{})); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestScanErrors(t *testing.T) {
	t.Parallel()
	for in, offset := range map[string]int{
		"a ${b":        2,
		"${":           0,
		"a ${}":        2,
		"a ${ \n}":     2,
		"${...}":       0,
		`x${"}`:        1,
		`x${"""a"}`:    1,
		"x${a.`b}":     1,
		"ok ${a} ${b{": 8,
		"${a // }":     0,
		`${"\`:         0,
	} {
		_, err := scan(in)
		var scanErr *scanError
		if !errors.As(err, &scanErr) || scanErr.offset != offset {
			t.Errorf("%q: got %v, want an error at %d", in, err, offset)
		}
	}
}

func TestWholeExpression(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"${a}": true, "${a}\n": true, "${a}\n\n": false, " ${a}": false, "${a}${b}": false, "a": false, "": false, "\n${a}": false,
	} {
		parts, err := scan(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := wholeExpression(parts); got != want {
			t.Errorf("%q: %t, want %t", in, got, want)
		}
	}
}

// TestWithin looks for marks in the values of scalars of every style, and
// compares where they are said to stand with where they do.
func TestWithin(t *testing.T) {
	t.Parallel()
	const mark = "@@"
	for name, text := range map[string]string{
		"plain":                    "a: one @@ two",
		"plain in flow":            "{a: [x, one @@ two]}",
		"plain on two lines":       "a: one\n  two @@ three",
		"plain with empty lines":   "a: one\n\n\n  two @@ three\n  four",
		"mark at the fold":         "a: one\n  @@ two",
		"single quotes":            "a: 'one @@ two'",
		"single, doubled":          "a: 'it''s ''so'' @@'",
		"single on two lines":      "a: 'one\n\n   two '' @@'",
		"double quotes":            `a: "one @@ two"`,
		"double, escapes":          `a: "\t\"\\ \x41 \u00e9 \U0001F600 \N \_ \L \P \e @@"`,
		"double on two lines":      "a: \"one \\t\n\n    two @@\"",
		"double, escaped line end": "a: \"one \\\n    \\ two @@\"",
		"unicode":                  "ä: é – @@ x",
		"literal":                  "a: |\n  one\n   two @@\n",
		"literal, first line":      "a: |\n  @@ one\n",
		"literal, blank lines":     "a: |\n\n  one\n\n    two\n  @@\n",
		"literal, indicator":       "a: |2\n    one\n  @@ two\n",
		"literal, strip":           "a: |-\n      one @@\n",
		"literal, keep":            "a: |+\n  one\n  @@\n\n",
		"folded":                   "a: >\n  one\n  two @@ three\n",
		"folded, paragraphs":       "a: >-\n  one\n  two\n\n  three\n  four @@\n",
		"folded, more indented":    "a: >\n  one\n    two @@\n  three\n",
		"folded, same words":       "a: >\n  one\n  one\n  one @@\n",
		"anchor":                   "a: &x \"one @@\"",
		"tag":                      "a: !!str one @@",
		"tag and anchor":           "a: !!str &x 'one @@'",
		"key":                      "{\"x @@ y\": 1}",
		"in a list":                "- - a: 'x @@'",
		"comment lines":            "# c\na: 1 # @ @\nb: one @@ # x",
		"carriage returns":         "a: |\r\n  one\r\n  two @@\r\n",
		"second document":          "---\na: 1\n---\nb: [x,\n  \"y @@\"]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := newSource("f", []byte(text))
			found := 0
			for _, doc := range src.documents() {
				nodes, finding := src.parse(doc)
				if finding != nil {
					t.Fatal(finding)
				}
				for len(nodes) > 0 {
					n := nodes[0]
					nodes = append(nodes[1:], n.Content...)
					at := strings.Index(n.Value, mark)
					if at < 0 {
						continue
					}
					found++
					pos := src.within(n, at)
					line := []rune(src.lines[pos.Line-1])
					if rest := string(line[pos.Column-1:]); !strings.HasPrefix(rest, mark) {
						t.Errorf("%v, which is before %q", pos, rest)
					}
				}
			}
			if found != 1 {
				t.Errorf("found %d marks", found)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"lables", "labels", 1}, {"parnt", "parent", 1}, {"Parent", "parent", 0}, {"kitten", "sitting", 3}} {
		if got := diagnostic.Distance(test.a, test.b); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := diagnostic.Distance(test.b, test.a); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

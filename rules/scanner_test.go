package rules

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
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

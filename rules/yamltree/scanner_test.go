package yamltree

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	t.Parallel()
	type parts = []Part
	for name, test := range map[string]struct {
		in   string
		want parts
	}{
		"text":                {"a $ {b} $x", parts{{Text: "a $ {b} $x"}}},
		"empty":               {"", nil},
		"whole":               {"${a}", parts{{Expr: true, Text: "a", Offset: 2}}},
		"blanks":              {"${ a }", parts{{Expr: true, Text: "a", Offset: 3}}},
		"around":              {"x${a}y", parts{{Text: "x"}, {Expr: true, Text: "a", Offset: 3}, {Text: "y", Offset: 5}}},
		"two":                 {"${a}${b}", parts{{Expr: true, Text: "a", Offset: 2}, {Expr: true, Text: "b", Offset: 6}}},
		"literal":             {"$${a}", parts{{Text: "${a}"}}},
		"literal and dollar":  {"$$${a}", parts{{Text: "$${a}"}}},
		"dollar before":       {"$$ ${a}", parts{{Text: "$$ "}, {Expr: true, Text: "a", Offset: 5}}},
		"nested braces":       {"${ {'a': {}} }x", parts{{Expr: true, Text: "{'a': {}}", Offset: 3}, {Text: "x", Offset: 14}}},
		"brace in a string":   {`${"}"}`, parts{{Expr: true, Text: `"}"`, Offset: 2}}},
		"single quotes":       {`${'}'}`, parts{{Expr: true, Text: `'}'`, Offset: 2}}},
		"escaped quote":       {`${"\"}"}`, parts{{Expr: true, Text: `"\"}"`, Offset: 2}}},
		"raw string":          {`${r"\"}`, parts{{Expr: true, Text: `r"\"`, Offset: 2}}},
		"raw bytes":           {`${bR'\'}`, parts{{Expr: true, Text: `bR'\'`, Offset: 2}}},
		"a name before":       {`${bar"\"}"}`, parts{{Expr: true, Text: `bar"\"}"`, Offset: 2}}},
		"triple quotes":       {`${"""a"}"b"""}`, parts{{Expr: true, Text: `"""a"}"b"""`, Offset: 2}}},
		"raw triple quotes":   {`${r'''\'}'''}`, parts{{Expr: true, Text: `r'''\'}'''`, Offset: 2}}},
		"comment":             {"${a // }\n}", parts{{Expr: true, Text: "a // }", Offset: 2}}},
		"slashes in a string": {`${"http://a"}`, parts{{Expr: true, Text: `"http://a"`, Offset: 2}}},
		"escaped name":        {"${a.`}`}", parts{{Expr: true, Text: "a.`}`", Offset: 2}}},
		"spread":              {"${...a}", parts{{Expr: true, Text: "a", Offset: 5, Spread: true}}},
		"spread with blanks":  {"${ ... a }", parts{{Expr: true, Text: "a", Offset: 7, Spread: true}}},
		"several lines":       {"${\n  a\n}\n", parts{{Expr: true, Text: "a", Offset: 5}, {Text: "\n", Offset: 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Scan(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Part{})); diff != "" {
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
		_, err := Scan(in)
		var scanErr *ScanError
		if !errors.As(err, &scanErr) || scanErr.Offset != offset {
			t.Errorf("%q: got %v, want an error at %d", in, err, offset)
		}
	}
}

func TestWholeExpression(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"${a}": true, "${a}\n": true, "${a}\n\n": false, " ${a}": false, "${a}${b}": false, "a": false, "": false, "\n${a}": false,
	} {
		parts, err := Scan(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := Whole(parts); got != want {
			t.Errorf("%q: %t, want %t", in, got, want)
		}
	}
}

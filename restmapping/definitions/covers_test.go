package definitions

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	const live = `
group: example.com
names: {kind: Note, plural: notes, listKind: NoteList}
versions:
- name: v1
  schema: {type: object, description: a note, required: [a, b], properties: {description: {type: string}, a: {type: integer, minimum: 1}}}
`
	tests := map[string]struct {
		wanted string
		want   bool
	}{
		"a part":                            {`{group: example.com, names: {kind: Note}}`, true},
		"another description":               {`{versions: [{name: v1, schema: {description: some note}}]}`, true},
		"a description that is not there":   {`{names: {description: x}}`, true},
		"another value":                     {`{names: {kind: Memo}}`, false},
		"another number":                    {`{versions: [{schema: {properties: {a: {minimum: 2}}}}]}`, false},
		"a value that is not there":         {`{names: {singular: note}}`, false},
		"a field that is called so":         {`{versions: [{schema: {properties: {description: {type: integer}}}}]}`, false},
		"another order":                     {`{versions: [{schema: {required: [b, a]}}]}`, false},
		"one version more":                  {`{versions: [{name: v1}, {name: v2}]}`, false},
		"a mapping where there is a list":   {`{versions: {name: v1}}`, false},
		"a mapping that is not there":       {`{conversion: {}}`, false},
		"an item of a list that is missing": {`{versions: []}`, false},
	}
	parse := func(text string) any {
		t.Helper()
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := covers(parse(live), parse(test.wanted)); got != test.want {
				t.Errorf("covers %s: %t", test.wanted, got)
			}
		})
	}
}

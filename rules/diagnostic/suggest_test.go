package diagnostic

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"lables", "labels", 1}, {"parnt", "parent", 1}, {"Parent", "parent", 0}, {"kitten", "sitting", 3}} {
		if got := Distance(test.a, test.b); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := Distance(test.b, test.a); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

func TestNearestWord(t *testing.T) {
	t.Parallel()
	fields := []string{"children", "lookups", "patches", "parent", "pruneLimit", "variables", "createWhen", "updateWhen", "updatePolicy", "conditions", "conditionPrefix"}
	for name, want := range map[string]string{
		"childs": "children", "child": "children", "vars": "variables", "createIf": "createWhen", "updateIf": "", "update": "", "prune": "pruneLimit",
		"lookup": "lookups", "chi": "children", "ch": "", "spec": "", "condition": "conditions", "childResources": "",
	} {
		if got, ok := NearestWord(name, fields); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t, want %q", name, got, ok, want)
		}
	}
}

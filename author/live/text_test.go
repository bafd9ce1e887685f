package live_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
)

const plain = `# Web applications.
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: web}
spec: # all of it
  # What it is for.
  parent: {apiVersion: shop.example.com/v1, kind: WebApp} # ours
  status: {a: "b"}
`

func TestSetSuspend(t *testing.T) {
	t.Parallel()
	web := types.NamespacedName{Namespace: "kanon", Name: "web"}
	suspended := strings.Replace(plain, "# all of it\n", "# all of it\n  suspend: true\n", 1)
	for name, tt := range map[string]struct {
		before string
		// after is the text when it is suspended, and again, if not empty, when it is resumed after that; else that is before.
		after, again string
	}{
		"a block":            {before: plain, after: suspended},
		"suspended before":   {before: suspended, after: suspended, again: plain},
		"with Windows lines": {before: strings.ReplaceAll(plain, "\n", "\r\n"), after: strings.ReplaceAll(suspended, "\n", "\r\n")},
		"with a mark of the byte order": {
			before: "\ufeff" + plain, after: "\ufeff" + suspended,
		},
		"false": {
			before: strings.Replace(suspended, "true", "false # not now", 1),
			after:  strings.Replace(suspended, "true", "true # not now", 1),
		},
		"false at the end, in another form": {
			before: plain + "  suspend:   False", after: plain + "  suspend:   true", again: plain + "  suspend:   false",
		},
		"in one line":                 {before: "{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: web}, spec: {parent: {kind: A}}}", after: ""},
		"lines that only YAML counts": {before: strings.Replace(plain, "# Web", "# \u2028# Web", 1), after: strings.Replace(suspended, "# Web", "# \u2028# Web", 1)},
		"one of several, by its namespace": {
			before: strings.Replace(plain, "name: web", "name: web, namespace: team", 1) + "---\n" + plain + "---\na: [\n",
			after:  strings.Replace(plain, "name: web", "name: web, namespace: team", 1) + "---\n" + suspended + "---\na: [\n",
		},
		"deeper than usual": {
			before: strings.Replace(plain, "  parent", "        parent", 1),
			after:  "",
		},
		"the spec is used twice": {before: "x: &s\n  parent: {kind: A}\nkind: Rule\nmetadata: {name: web}\nspec: *s\n", after: ""},
		"no such rule":           {before: strings.Replace(plain, "name: web", "name: shop", 1), after: ""},
		"no spec":                {before: "kind: Rule\nmetadata: {name: web}\nspec:\n", after: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := live.SetSuspend([]byte(tt.before), web, "kanon", true)
			if tt.after == "" {
				if err == nil && string(got) != tt.before {
					t.Errorf("it becomes\n%s", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
			again := tt.before
			if tt.again != "" {
				again = tt.again
			}
			resumed, err := live.SetSuspend(got, web, "kanon", false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(again, string(resumed)); diff != "" {
				t.Errorf("resumed: %s", diff)
			}
		})
	}
}

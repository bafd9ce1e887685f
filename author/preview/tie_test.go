package preview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/mark"
)

// Of the objects that the cluster has, the parent's children are those whose mark or owner reference says so: other parents'
// objects of the same rule, and other rules', are none.
func TestWhoseChildrenAre(t *testing.T) {
	t.Parallel()
	const (
		kanon     = "kanon-system"
		mine      = "0b5c3a52-0f47-4a5c-8d4e-000000000001"
		another   = "0b5c3a52-0f47-4a5c-8d4e-000000000002"
		reference = "apiVersion: shop.example.com/v1, kind: Shop, name: corner, controller: true"
	)
	// mark is what the engine writes on a child of a parent that has an owner reference to it.
	markText := func(rule, node, uid, hash string) string {
		return "labels: {kanon.dev/rule: " + mark.RuleID(kanon, kanon, rule) + "}, annotations: {kanon.dev/applied: " +
			"2." + uid + "." + hash + ".seal.value.paths.content." + node + "}"
	}
	const (
		packedMine    = "C1w6Ug9HSlyNTgAAAAAAAQ" // the UIDs as marks have them
		packedAnother = "C1w6Ug9HSlyNTgAAAAAAAg"
	)
	// own is the hash of the parent, by which a child is found that lost its owner reference.
	own := mark.LostParentHash(mark.Ref{Group: "shop.example.com", Kind: "Shop", Namespace: "team-a", Name: "corner"})
	const spec = `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: config
    %s
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: corner}, data: {config: "${observed.config == null ? 'none' : observed.config.metadata.name}", gone: "${observed.gone == null ? 'none' : observed.gone.metadata.name}"}}
  - id: gone
    when: ${false}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}`
	tests := map[string]struct {
		metadata string // of the ConfigMap besides its name
		name     string // corner where it is left out
		noUID    bool   // of the parent
		config   string // a field of the child config
		observed string // as config
		gone     string
		refused  string
	}{
		"controlled by the parent":                    {metadata: "ownerReferences: [{" + reference + ", uid: " + mine + "}]", observed: "corner"},
		"controlled by it, written by hand":           {metadata: "ownerReferences: [{" + reference + "}]", observed: "corner"},
		"the parent is written by hand":               {metadata: "ownerReferences: [{" + reference + ", uid: " + another + "}]", noUID: true, observed: "corner"},
		"controlled by an earlier one":                {metadata: "ownerReferences: [{" + reference + ", uid: " + another + "}]", refused: "was created for an earlier Shop.shop.example.com team-a/corner; waiting until it is deleted"},
		"controlled by another":                       {metadata: "ownerReferences: [{apiVersion: shop.example.com/v1, kind: Shop, name: other, controller: true}]", refused: "belongs to Shop other, its controller; Kanon does not change it"},
		"owned by it, but not controlled":             {metadata: "ownerReferences: [{apiVersion: shop.example.com/v1, kind: Shop, name: corner}]", refused: "unless the child has adopt: true"},
		"marked, for the parent":                      {metadata: markText("r", "config", packedMine, own), observed: "corner"},
		"marked, the parent is written by hand":       {metadata: markText("r", "config", packedAnother, own), noUID: true, observed: "corner"},
		"marked, for another":                         {metadata: markText("r", "config", packedAnother, "hash"), refused: "belongs to rule kanon-system/r; Kanon does not change it"},
		"marked, no longer rendered":                  {metadata: markText("r", "gone", packedMine, own), name: "gone", gone: "gone"},
		"marked, no longer rendered, for another":     {metadata: markText("r", "gone", packedAnother, "hash"), name: "gone"},
		"marked, no longer rendered, by another rule": {metadata: markText("other", "gone", packedMine, "hash"), name: "gone"},
		"marked, by another rule":                     {metadata: markText("other", "config", packedMine, "hash"), refused: "belongs to rule " + mark.RuleID(kanon, kanon, "other")},
		"nobody's":                                    {refused: "belongs to nobody, as it has neither a controller nor a mark; Kanon does not change it, unless the child has adopt: true"},
		"nobody's, written by kubectl":                {metadata: "managedFields: [{manager: kubectl, operation: Update, apiVersion: v1}]", refused: "belongs to others (field managers: kubectl); Kanon does not change it"},
		"nobody's, adopted":                           {config: "adopt: true"},
		"somebody's, not adopted":                     {config: "adopt: true", metadata: "ownerReferences: [{apiVersion: v1, kind: Pod, name: p, controller: true}]", refused: "belongs to Pod p"},
		"let go by the rule and the parent":           {metadata: "annotations: {kanon.dev/retained-by: kanon-system/r/team-a/corner}"},
		"let go by another":                           {metadata: "annotations: {kanon.dev/retained-by: kanon-system/r/team-a/other}", refused: "belongs to nobody"},
		"being deleted":                               {metadata: "deletionTimestamp: 2026-01-01T00:00:00Z, ownerReferences: [{" + reference + "}]", observed: "corner", refused: "is being deleted; waiting until it is deleted"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent, config := object(t, shop), object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {"+tc.metadata+"}}")
			config.SetName("corner")
			if tc.name != "" {
				config.SetName(tc.name)
			}
			config.SetNamespace("team-a")
			if !tc.noUID {
				parent.SetUID(mine)
			}
			field := "adopt: false"
			if tc.config != "" {
				field = tc.config
			}
			p := evaluate(t, preview.Input{
				Program: programOf(t, strings.Replace(spec, "%s", field, 1)), Parent: parent, Now: time.Now(), Namespace: kanon,
				With: []*unstructured.Unstructured{config},
			})
			var refused []string
			for _, r := range p.Nodes[0].Refused {
				refused = append(refused, r.Err.Error())
			}
			if got := strings.Join(refused, "\n"); tc.refused == "" && got != "" || !strings.Contains(got, tc.refused) {
				t.Errorf("refused: %q, want %q", got, tc.refused)
			}
			if written := len(p.Nodes[0].Objects) > 0; written != (tc.refused == "") {
				t.Errorf("%d objects are written", len(p.Nodes[0].Objects))
			}
			want := map[string]any{"config": "none", "gone": "none"}
			if tc.observed != "" {
				want["config"] = tc.observed
			}
			if tc.gone != "" {
				want["gone"] = tc.gone
			}
			if diff := cmp.Diff(want, p.Rendered()[0].Object["data"]); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
		})
	}
}

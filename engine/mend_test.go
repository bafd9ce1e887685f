package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A revision that is wrong because of what a kind is, is looked at again when the
// kind becomes another, also a kind that no revision before it used.
func TestRevisionThatAKindMends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	item := w.definition("Item")
	if err := unstructured.SetNestedField(item.Object, "Cluster", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	w.install(item)
	first, _, _ := strings.Cut(itemRule, "  - id: item")
	w.rule("item", first)
	w.run()
	w.verdict("item", `"ready":true`)
	w.rule("item", strings.ReplaceAll(itemRule, `"${parent.metadata.name}"}`+"\n      spec", `"${parent.metadata.name}", namespace: $HOME}`+"\n      spec"))
	w.verdict("item", "the last good revision keeps running")
	w.undefine("Item")
	w.define("Item")
	w.verdict("item", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(w.resource("Item"), w.home, "n", "is made", exists)
}

package preview_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/preview"
)

// A lookup of the parent's own kind finds the parent, as in a cluster, also where an
// older copy of it is given besides.
func TestParentIsLookedUp(t *testing.T) {
	t.Parallel()
	spec := `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  lookups:
  - {id: me, apiVersion: shop.example.com/v1, kind: Shop, name: "${parent.metadata.name}"}
  - {id: all, apiVersion: shop.example.com/v1, kind: Shop, selector: {matchLabels: {tier: web}}}
  status: {url: "${lookups.me.spec.url}", all: "${lookups.all.size()}"}`
	older := object(t, strings.ReplaceAll(shop, "http", "ftp"))
	for name, with := range map[string][]*unstructured.Unstructured{"alone": nil, "with an older copy": {older}} {
		out := evaluate(t, preview.Input{
			Program: programOf(t, spec), Parent: object(t, shop), With: with, Now: time.Now(),
		}).Result
		if out.Status["url"] != "http://${x}" || out.Status["all"] != int64(1) {
			t.Errorf("%s: the status is %v, waiting: %q", name, out.Status, out.StatusWaiting)
		}
	}
}

// Whatever a message holds, it stays in its comment; and what was written can be
// written again.
func TestCommentsStayComments(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"CR": "\r", "LF": "\n", "CRLF": "\r\n", "NEL": "\u0085", "LS": "\u2028", "PS": "\u2029"} {
		parent := object(t, shop)
		parent.SetAnnotations(map[string]string{"text": "told" + end + "evil: true"})
		p := evaluate(t, preview.Input{Now: time.Now(), Parent: parent, Program: programOf(t, `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  status: {conditions: [{type: A, status: "True", message: a, reason: A}]}
  conditions: [{type: B, status: "True", reason: B, message: b}]
  events: [{type: Normal, reason: Told, message: "${parent.metadata.annotations.text}"}]`)})
		var first, second strings.Builder
		if err := p.Write(&first); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(&second); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Errorf("%s: written again it is\n%s", name, second.String())
		}
		_, comments, _ := strings.Cut(first.String(), "---\n")
		_, comments, _ = strings.Cut(comments, "---\n")
		var read any
		if err := yaml.Unmarshal([]byte(comments), &read); err != nil || read != nil {
			t.Errorf("%s: read as %v, %v:\n%q", name, read, err, first.String())
		}
	}
}

// What a Secret would hold is hidden also where it is no Secret that can be.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{a: "${parent.spec.url}"}`, `"${parent.spec.url}"`, `"${dyn([parent.spec.url])}"`} {
		p := evaluate(t, preview.Input{Now: time.Now(), Parent: object(t, shop), Program: programOf(t, `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: a
    template: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: `+data+`}`)})
		var text strings.Builder
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "http") || strings.Contains(data, "{a") && !strings.Contains(text.String(), "(hidden)") {
			t.Errorf("it shows\n%s", text.String())
		}
	}
}

package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/internal/controlplanetest"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// lookupRule renders one text per Note, from lookups that stand in place of
// $LOOKUPS; $TEXT is the text.
const lookupRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: reading}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  $LOOKUPS
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: '$TEXT'}
`

func reading(text string, lookups ...string) string {
	return strings.NewReplacer("$LOOKUPS", strings.Join(lookups, "\n  "), "$TEXT", text).Replace(lookupRule)
}

// configMap makes a ConfigMap with one text.
func (w *world) configMap(namespace, name, text, labels string) {
	w.t.Helper()
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: "+namespace+
		", labels: {"+labels+"}}\ndata: {text: \""+text+"\"}\n"))
}

// says waits until the child of a Note has a text.
func (w *world) says(note, text string) {
	w.t.Helper()
	w.await(configMaps, w.home, note, "says "+text, has(text, "data", "text"))
}

const listTexts = `${lookups.all.map(c, c.data.text).join(",")}`

// A lookup is read again when what it reads changes, appears or goes, and by
// nobody else who reads something else.
func TestLookups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lookup, text string
		// spec is the Note's; apart stands for another namespace.
		spec string
		// steps are changes, each with what the child says then.
		steps func(w *world, apart string)
	}{
		"by name": {
			lookup: `- {id: one, apiVersion: v1, kind: ConfigMap, name: "${parent.spec.of}"}`,
			text:   `${lookups.one.data.text}`,
			spec:   `{of: first}`,
			steps: func(w *world, _ string) {
				waiting := w.await(w.resource("Note"), w.home, "n", "waits", func(obj *unstructured.Unstructured) bool {
					return conditionField(obj, "Reconciling", "reason") == "Waiting"
				})
				if message := conditionField(waiting, "Reconciling", "message"); !strings.Contains(message, `lookups.one does not exist yet: ConfigMap "`+w.home+`/first"`) {
					w.t.Errorf("it waits with %q", message)
				}
				w.configMap(w.home, "first", "a", "")
				w.says("n", "a")
				w.patch(configMaps, w.home, "first", `{"data":{"text":"b"}}`)
				w.says("n", "b")
				w.configMap(w.home, "second", "c", "")
				w.patch(w.resource("Note"), w.home, "n", `{"spec":{"of":"second"}}`)
				w.says("n", "c")
				// What was read before and is not read now wakes nobody.
				w.quiet()
				before := w.looks("n")
				w.patch(configMaps, w.home, "first", `{"data":{"text":"d"}}`)
				w.quiet()
				if after := w.looks("n"); after != before {
					w.t.Errorf("a ConfigMap that is not read any more woke the parent %d times", after-before)
				}
				// One that goes is waited for; the child stays.
				w.delete(configMaps, w.home, "second")
				w.await(w.resource("Note"), w.home, "n", "waits again", isTrue("Reconciling"))
				w.says("n", "c")
			},
		},
		"optional": {
			lookup: `- {id: one, apiVersion: v1, kind: ConfigMap, name: first, optional: true}`,
			text:   `${has(lookups.one) ? lookups.one.data.text : "none"}`,
			steps: func(w *world, _ string) {
				w.says("n", "none")
				w.configMap(w.home, "first", "a", "")
				w.says("n", "a")
				w.delete(configMaps, w.home, "first")
				w.says("n", "none")
			},
		},
		"a selector": {
			lookup: `- {id: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {use: "yes"}}}`,
			text:   listTexts,
			steps: func(w *world, apart string) {
				w.says("n", "")
				w.configMap(w.home, "b", "two", "use: 'yes'")
				w.configMap(apart, "x", "elsewhere", "use: 'yes'")
				w.configMap(w.home, "a", "one", "use: 'yes'")
				w.says("n", "one,two")
				w.patch(configMaps, w.home, "a", `{"metadata":{"labels":{"use":"no"}}}`)
				w.says("n", "two")
			},
		},
		"a rendered selector": {
			lookup: `- {id: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {of: "${parent.spec.of}"}}}`,
			text:   listTexts,
			spec:   `{of: mine}`,
			steps: func(w *world, _ string) {
				w.configMap(w.home, "a", "one", "of: mine")
				w.says("n", "one")
				w.configMap(w.home, "b", "two", "of: theirs")
				w.patch(configMaps, w.home, "b", `{"metadata":{"labels":{"of":"mine"}}}`)
				w.says("n", "one,two")
				w.delete(configMaps, w.home, "a")
				w.says("n", "two")
			},
		},
		"all namespaces": {
			lookup: `- {id: all, apiVersion: v1, kind: ConfigMap, namespace: "*", selector: {matchLabels: {use: "$GROUP"}}}`,
			text:   listTexts,
			steps: func(w *world, apart string) {
				w.configMap(apart, "b", "two", "use: $GROUP")
				w.configMap(w.home, "a", "one", "use: $GROUP")
				w.says("n", map[bool]string{true: "two,one", false: "one,two"}[apart < w.home])
			},
		},
		"another namespace": {
			lookup: `- {id: one, apiVersion: v1, kind: ConfigMap, name: first, namespace: "${parent.spec.where}"}`,
			text:   `${lookups.one.data.text}`,
			spec:   `{where: $APART}`,
			steps: func(w *world, apart string) {
				w.configMap(w.home, "first", "wrong", "")
				w.configMap(apart, "first", "a", "")
				w.says("n", "a")
			},
		},
		"one for each": {
			lookup: `- {id: all, forEach: [{name: v, in: "${parent.spec.of}"}], apiVersion: v1, kind: ConfigMap, name: "${v}", optional: true}`,
			text:   listTexts,
			spec:   `{of: [a, b, c]}`,
			steps: func(w *world, _ string) {
				w.configMap(w.home, "c", "three", "")
				w.says("n", "three")
				w.configMap(w.home, "a", "one", "")
				w.says("n", "one,three")
			},
		},
		"a Secret": {
			lookup: `- {id: one, apiVersion: v1, kind: Secret, name: first}`,
			text:   `${lookups.one.metadata.labels.text}`,
			steps: func(w *world, apart string) {
				for _, namespace := range []string{apart, w.home} {
					w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: first, namespace: "+namespace+", labels: {text: "+namespace+"}}\n"))
				}
				w.says("n", w.home)
				w.patch(secrets, w.home, "first", `{"metadata":{"labels":{"text":"new"}}}`)
				w.says("n", "new")
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			apart := controlplanetest.Namespace(t, w.config)
			w.rule("reading", reading(tc.text, tc.lookup))
			stop := w.run()
			w.verdict("reading", `"ready":true`)
			spec := tc.spec
			if spec == "" {
				spec = "{}"
			}
			w.parent("Note", "n", strings.ReplaceAll(spec, "$APART", apart))
			tc.steps(w, apart)

			// With all in place, a restart writes nothing.
			w.quiet()
			stop()
			from := w.requests.count()
			w.run()
			w.rule("marker", strings.NewReplacer("name: note", "name: marker", "kind: Note}", "kind: Note, when: '${parent.metadata.name == \"m\"}'}").Replace(note("x")))
			w.verdict("marker", `"ready":true`)
			w.quiet()
			for _, request := range w.requestsAtHome(from) {
				if !strings.HasPrefix(request, "GET ") {
					t.Errorf("a restart with all in place wrote: %s", request)
				}
			}
		})
	}
}

// An unrelated object wakes nobody, and a related one wakes its readers only.
func TestLookupsWakeTheirReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("reading", reading(`${lookups.one.data.text} of ${string(lookups.all.size())}`,
		`- {id: one, apiVersion: v1, kind: ConfigMap, name: "for-${parent.metadata.name}"}`,
		`- {id: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {of: "${parent.metadata.name}"}}}`))
	w.run()
	for _, name := range []string{"a", "b"} {
		w.configMap(w.home, "for-"+name, "one", "")
		w.parent("Note", name, "{}")
		w.says(name, "one of 0")
	}
	w.quiet()
	a, b := w.looks("a"), w.looks("b")
	w.configMap(w.home, "unrelated", "x", "of: c")
	w.patch(configMaps, w.home, "unrelated", `{"data":{"text":"y"}}`)
	w.delete(configMaps, w.home, "unrelated")
	w.quiet()
	if a != w.looks("a") || b != w.looks("b") {
		t.Errorf("an unrelated object woke the parents %d and %d times", w.looks("a")-a, w.looks("b")-b)
	}
	w.patch(configMaps, w.home, "for-a", `{"data":{"text":"two"}}`)
	w.says("a", "two of 0")
	w.configMap(w.home, "one-more", "x", "of: a")
	w.says("a", "two of 1")
	w.quiet()
	if b != w.looks("b") {
		t.Errorf("what one parent reads woke another %d times", w.looks("b")-b)
	}
	// A parent that is gone reads nothing any more.
	w.delete(w.resource("Note"), w.home, "a")
	w.awaitGone(configMaps, w.home, "a")
	w.quiet()
	a = w.looks("a")
	w.patch(configMaps, w.home, "for-a", `{"data":{"text":"three"}}`)
	w.quiet()
	if a != w.looks("a") {
		t.Errorf("what a parent read that is gone woke it %d times", w.looks("a")-a)
	}
}

// Secrets are listed in the namespaces in which one is read, and as long as one is.
func TestSecretsAreReadByNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("reading", reading(`${lookups.one.metadata.name}`, `- {id: one, apiVersion: v1, kind: Secret, name: first}`))
	w.run()
	w.verdict("reading", `"ready":true`)
	w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: first, namespace: $HOME}\n"))
	w.parent("Note", "n", "{}")
	w.says("n", "first")
	w.quiet()
	for _, request := range w.requests.allSince(time.Time{}) {
		if strings.HasSuffix(request, "/v1/secrets") {
			t.Errorf("Secrets were listed cluster-wide: %s", request)
		}
	}
	w.delete(w.resource("Note"), w.home, "n")
	w.awaitGone(configMaps, w.home, "n")
	w.quiet()
	// The watch has ended: another parent lists anew.
	from := time.Now()
	w.parent("Note", "m", "{}")
	w.says("m", "first")
	if !slices.Contains(w.requests.allSince(from), "GET /api/v1/namespaces/"+w.home+"/secrets") {
		t.Error("the Secrets of the namespace were watched while nobody read one")
	}
}

// A rule starts when the kind of its lookup is there, and its parents read again
// when it has gone and come back.
func TestKindOfALookupThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("reading", reading(`${lookups.one.spec.text}`, `- {id: one, apiVersion: $GROUP/v1, kind: Box, name: first}`))
	w.run()
	w.verdict("reading", "has no kind Box")
	w.parent("Note", "n", "{}")
	w.define("Box")
	w.verdict("reading", `"ready":true`)
	w.parent("Box", "first", "{text: a}")
	w.says("n", "a")
	w.undefine("Box")
	w.verdict("reading", "has no kind Box")
	w.says("n", "a")
	w.define("Box")
	w.verdict("reading", `"ready":true`)
	w.parent("Box", "first", "{text: b}")
	w.says("n", "b")
}

// Secrets that Kanon may not read are told of in the parent's condition, and read
// when it may.
func TestSecretsThatAreForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("reading", reading(`${lookups.one.metadata.name}`, `- {id: one, apiVersion: v1, kind: Secret, name: first}`))
	user := w.user()
	w.grant(user, "parents", rightsForParents)
	w.grant(user, "children", rightsForConfigMaps)
	w.runAs(user)
	w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: first, namespace: $HOME}\n"))
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "says why it waits", func(obj *unstructured.Unstructured) bool {
		message := conditionField(obj, "Reconciling", "message")
		return strings.Contains(message, "cannot read secrets in namespace "+w.home) && strings.Contains(message, "forbidden")
	})
	w.grant(user, "secrets", `[{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]`)
	w.says("n", "first")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
}

// Secrets of all namespaces are not kept in memory, whatever a rule asks for.
func TestSecretsOfAllNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("reading", reading(`${string(lookups.all.size())}`, `- {id: all, apiVersion: v1, kind: Secret, namespace: "*", selector: {}}`))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "says what to do", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "name a namespace")
	})
	w.quiet()
	for _, request := range w.requests.allSince(time.Time{}) {
		if strings.HasSuffix(request, "/secrets") && !strings.Contains(request, "/"+w.kanon+"/") {
			t.Errorf("Secrets were listed: %s", request)
		}
	}
}

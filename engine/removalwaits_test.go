package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/internal/controlplanetest"
)

// recordOfNote is the name of the record of the tenant's rule note.
func (v *tenant) recordOfNote() string {
	return record.NamePrefix + mark.RuleID(v.kanon, v.home, "note")
}

// takeRights takes all rights from the ServiceAccount of the tenant's rules, and giveRights gives them back.
func (v *tenant) takeRights() {
	v.t.Helper()
	if err := v.client.Resource(roleBindings).Namespace(v.home).Delete(v.t.Context(), "tenant", metav1.DeleteOptions{}); err != nil {
		v.t.Fatal(err)
	}
	if err := v.client.Resource(roles).Namespace(v.home).Delete(v.t.Context(), "tenant", metav1.DeleteOptions{}); err != nil {
		v.t.Fatal(err)
	}
}

func (v *tenant) giveRights() {
	v.t.Helper()
	v.allow(v.home, "tenant", v.user, `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`)
}

// removalWaits tells whether a record says why the removal of its rule waits.
func removalWaits(text string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		why, _ := field(obj, "data", "removal").(string)
		return strings.Contains(why, text)
	}
}

// waits are the names of the rules whose removal waits, as the metrics have them.
func (v *tenant) waits() (names []string) {
	for _, rule := range v.engine.Stats().Rules {
		if rule.Removed && rule.Waits {
			names = append(names, rule.Name.String())
		}
	}
	return names
}

// A rule whose ServiceAccount lost its rights before the rule was removed cannot be cleaned up after. The record, an Event for the
// tenant and the metrics say so, nothing is deleted, and it goes on when the rights are given back.
func TestRemovalWithoutRights(t *testing.T) {
	t.Parallel()
	v := newTenant(t, func(o *engine.Options) { o.WaitLimit = time.Second })
	v.tenantRule("note", strings.Replace(tenantNote, "spec:\n", "spec:\n  onRuleDeletion: Delete\n", 1))
	v.parent("Note", "one", "{}")
	v.await(v.resource("Note"), v.home, "one", "is ready", isTrue("Ready"))
	v.takeRights()
	v.delete(configMaps, v.home, "note")
	v.await(configMaps, v.kanon, v.recordOfNote(), "says what the removal waits for", removalWaits(v.home+"/kanon-tenant"))
	v.awaitEvent(v.home, "note", "RemovalWaits")
	if got := v.waits(); len(got) != 1 || got[0] != v.home+"/note" {
		t.Errorf("the removals that wait are %v", got)
	}
	if v.get(configMaps, v.home, "one").GetDeletionTimestamp() != nil || !isTrue("Ready")(v.get(v.resource("Note"), v.home, "one")) {
		t.Error("something of the rule was removed without rights")
	}
	v.giveRights()
	v.awaitGone(configMaps, v.home, "one")
	v.await(v.resource("Note"), v.home, "one", "has no status", hasNoStatus)
	v.awaitGone(configMaps, v.kanon, v.recordOfNote())
	v.until("no removal waits", func() bool { return len(v.waits()) == 0 })
}

// Whoever deletes the record of a removal that waits has Kanon forget the rule, without a restart. Its objects stay as they are.
func TestRemovalThatIsGivenUp(t *testing.T) {
	t.Parallel()
	v := newTenant(t, func(o *engine.Options) { o.WaitLimit = time.Second })
	v.tenantRule("note", strings.Replace(tenantNote, "spec:\n", "spec:\n  onRuleDeletion: Delete\n", 1))
	v.parent("Note", "one", "{}")
	v.await(v.resource("Note"), v.home, "one", "is ready", isTrue("Ready"))
	v.takeRights()
	v.delete(configMaps, v.home, "note")
	v.await(configMaps, v.kanon, v.recordOfNote(), "says how to give up", removalWaits("delete ConfigMap "+v.kanon+"/"+v.recordOfNote()))
	v.delete(configMaps, v.kanon, v.recordOfNote())
	v.until("the rule is forgotten", func() bool {
		for _, rule := range v.engine.Stats().Rules {
			if rule.Removed {
				return false
			}
		}
		return true
	})
	v.giveRights()
	v.quiet()
	if v.get(configMaps, v.home, "one").GetDeletionTimestamp() != nil {
		t.Error("a child of a rule that was given up is deleted")
	}
	if _, err := v.client.Resource(configMaps).Namespace(v.kanon).Get(t.Context(), v.recordOfNote(), metav1.GetOptions{}); err == nil {
		t.Error("the record exists again")
	}
}

// A tenant creates rules, takes the rights from their ServiceAccount, removes them and begins again under other names. Those that wait
// to be removed take the place of others, so there are never more than a tenant may have, and at rest they send little.
func TestTenantRemovesRulesWithoutRights(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	const limit, texts = 100, 4 // as in package catalog
	const parents = 10          // a hundred rules of one parent would mostly wait for each other's writes to its status
	v := newTenant(t, func(o *engine.Options) { o.WaitLimit = time.Second })
	for i := range parents {
		v.create(v.resource("Note"), v.object(fmt.Sprintf("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: n%d, namespace: $HOME, labels: {part: '%d'}}\n", i, i)))
	}
	for round := range 3 {
		for text := range texts {
			var rules strings.Builder
			for i := range limit / texts {
				name := fmt.Sprintf("r%d-%d-%d", round, text, i)
				rules.WriteString("---" + strings.NewReplacer("name: note", "name: "+name,
					"kind: Note}", fmt.Sprintf("kind: Note, selector: {matchLabels: {part: '%d'}}}", i%parents), "spec:\n", "spec:\n  conditionPrefix: "+strings.ToUpper(strings.ReplaceAll(name, "-", "x"))+"\n",
					`"${parent.metadata.name}"`, `"${parent.metadata.name}-`+name+`"`).Replace(tenantNote))
			}
			v.tenantRule(fmt.Sprintf("text-%d", text), rules.String())
		}
		for text := range texts {
			name := fmt.Sprintf("text-%d", text)
			if round > 0 {
				v.reports(name, "KN0904")
				continue
			}
			v.reports(name, `"ready":true`)
			v.await(configMaps, v.home, fmt.Sprintf("n0-r0-%d-0", text), "is made", exists)
		}
		if round == 0 {
			v.quiet()
			v.takeRights()
		}
		for text := range texts {
			v.delete(configMaps, v.home, fmt.Sprintf("text-%d", text))
		}
		v.until("all removals wait", func() bool { return len(v.waits()) == limit })
	}
	list, err := v.client.Resource(configMaps).Namespace(v.kanon).List(t.Context(), metav1.ListOptions{LabelSelector: record.Label + "=true"})
	if err != nil || len(list.Items) != limit {
		t.Errorf("there are %d records (%v), want %d", len(list.Items), err, limit)
	}
	if stats := v.engine.Stats(); len(stats.Rules) != limit {
		t.Errorf("there are %d rules and removals, want %d", len(stats.Rules), limit)
	}
	v.giveRights()
	v.until("all rules are gone", func() bool { return len(v.engine.Stats().Rules) == 0 })
	for i := range parents {
		v.await(v.resource("Note"), v.home, fmt.Sprintf("n%d", i), "has no status", hasNoStatus)
	}
	v.tenantRule("note", tenantNote)
	v.reports("note", `"ready":true`)
}

// until waits for a state of the engine that nothing announces.
func (v *tenant) until(what string, holds func() bool) {
	v.t.Helper()
	err := wait.PollUntilContextTimeout(v.t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		v.t.Fatalf("gave up waiting until %s: %v", what, err)
	}
}

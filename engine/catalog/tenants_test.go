package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/source"
)

// A text outside Kanon's namespace is a tenant's, whatever it says: its rules are in its namespace, and confined to it.
func TestTenantTexts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("own", 9, noteRule)
	c.put("team-a:note", 1, noteRule)
	c.put("team-b:taken", 99, edit("{name: note}", "{name: note, namespace: kanon}"))
	c.put("team-c:kind", 1, edit("{name: note}", "{name: kind}"), definitionText)
	c.update()
	got := map[string]string{}
	for _, rule := range c.Rules() {
		got[rule.ID] = "refused"
		if rule.Program != nil {
			got[rule.ID] = fmt.Sprint(rule.Program.Confined, rule.Program.ServiceAccountName, rule.Program.Parent.Namespaces)
		}
	}
	for id, want := range map[string]string{
		"kanon/note": "false[]", "team-a/note": "truekanon-tenant[team-a]", "team-b/note": "refused", "team-c/kind": "truekanon-tenant[team-c]",
	} {
		if strings.ReplaceAll(got[id], " ", "") != want {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	if report := textOf(c.report("team-b:taken")); !strings.Contains(report, "KN0602") {
		t.Errorf("the report on a rule that names Kanon's namespace is %s", report)
	}
	if report := textOf(c.report("team-c:kind")); !strings.Contains(report, errTenantDefinition.Error()) || len(c.writer.asked) > 0 {
		t.Errorf("a tenant's definition was applied (%v), or the report does not say why not: %s", c.writer.asked, report)
	}

	// What a tenant breaks says nothing about the rules of others.
	c.put("team-a:note", 1, "spec: [unclosed\n")
	c.update()
	if c.IsCompleteIn("team-a") || !c.IsCompleteIn("kanon") || !c.IsCompleteIn("team-b") {
		t.Errorf("complete: team-a %v, kanon %v, team-b %v", c.IsCompleteIn("team-a"), c.IsCompleteIn("kanon"), c.IsCompleteIn("team-b"))
	}
}

const definitionText = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// A tenant has a bounded number of rules. Those that run go on when older texts come, and none counts as removed.
func TestTooManyRulesOfATenant(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for i := range maxTenantRules {
		c.put(fmt.Sprintf("team-a:%d", i), 1, edit("{name: note}", fmt.Sprintf("{name: note-%d}", i)))
	}
	c.put("team-b:0", 1, noteRule)
	c.update()
	if n := len(c.Rules()); n != maxTenantRules+1 || !c.IsCompleteIn("team-a") {
		t.Fatalf("there are %d rules; complete: %v", n, c.IsCompleteIn("team-a"))
	}
	c.put("own", 1, edit("{name: note}", "{name: own}"))
	for i := range 5 { // texts that were created long ago, and labelled now
		c.put(fmt.Sprintf("team-a:older-%d", i), 99+i, edit("{name: note}", fmt.Sprintf("{name: older-%d}", i)))
		c.update()
	}
	if n := len(c.Rules()); n != maxTenantRules+2 {
		t.Errorf("there are %d rules, want %d", n, maxTenantRules+2)
	}
	if report := textOf(c.report("team-a:older-0")); !strings.Contains(report, "KN0904") {
		t.Errorf("the report on one too many is %s", report)
	}
	if c.Removed("team-a/note-0") || !c.Refused("team-a/older-0") || c.Refused("team-a/note-0") || !c.IsCompleteIn("team-b") {
		t.Error("a rule counts as removed or refused that is not, or another tenant is affected")
	}
	c.remove("team-a:0")
	c.update()
	if n := len(c.Rules()); n != maxTenantRules+2 {
		t.Errorf("after one was removed there are %d rules, want %d", n, maxTenantRules+2)
	}
}

// Rules that are being removed take the place of others, until nothing is left of them. A tenant who creates and deletes rules has no
// more of both than of one.
func TestRemovedRulesOfATenantCount(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.recorded = map[string]types.NamespacedName{}
	most := 0
	for round := range 5 {
		for i := range maxTenantRules {
			c.put(fmt.Sprintf("team-a:%d", i), 1, edit("{name: note}", fmt.Sprintf("{name: note-%d-%d}", round, i)))
		}
		c.update()
		for _, rule := range c.Rules() {
			c.recorded[rule.ID] = rule.Name // it runs
		}
		most = max(most, len(c.recorded))
		if round == 0 {
			continue
		}
		if report := textOf(c.report("team-a:0")); !strings.Contains(report, "KN0904") || !strings.Contains(report, "being removed") {
			t.Errorf("the report on a rule without a place is %s", report)
		}
		if !c.Removed("team-a/note-0-0") || !c.IsCompleteIn("team-a") {
			t.Error("the rules that were removed are in doubt, because of those that came after them")
		}
	}
	if most != maxTenantRules {
		t.Errorf("there were %d rules and removals, want %d", most, maxTenantRules)
	}
	c.put("team-b:0", 1, noteRule)
	for i := range 10 { // of these nothing is left
		delete(c.recorded, fmt.Sprintf("team-a/note-0-%d", i))
	}
	c.update()
	if n := len(c.Rules()); n != 11 {
		t.Errorf("when 10 removals are done there are %d rules, want 10 and that of another tenant", n)
	}
	if len(c.removed) != maxTenantRules-10 {
		t.Errorf("%d rules are remembered as removed, want those with a record, %d", len(c.removed), maxTenantRules-10)
	}
	c.put("team-a:back", 0, edit("{name: note}", "{name: note-0-50}"))
	c.update()
	if c.Removed("team-a/note-0-50") || len(c.Rules()) != 12 {
		t.Error("a rule that is being removed cannot come back")
	}
}

// What rules of different namespaces have in common, neither report says.
func TestClashesOfTenants(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("own", 1, noteRule)
	c.put("team-a:note", 1, noteRule)
	c.put("team-a:other", 1, edit("{name: note}", "{name: other}"))
	c.put("team-b:secret", 1, edit("{name: note}", "{name: secret}"))
	c.update()
	if report := textOf(c.report("team-a:note")); !strings.Contains(report, "rule other") || strings.Contains(report, "secret") {
		t.Errorf("a tenant reads %s", report)
	}
	if report := textOf(c.report("own")); strings.Contains(report, "clash") || strings.Contains(report, "secret") {
		t.Errorf("Kanon's own rule has %s", report)
	}
}

// A tenant writes 10,000 rules. Those that are too many are neither compiled nor remembered, and a change of one of them costs the others
// nothing.
func TestTenThousandRulesOfATenant(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const many = 10_000
	for i := range many {
		name := fmt.Sprintf("team-a:%d", i)
		c.snapshot.Bundles = append(c.snapshot.Bundles, source.Bundle{
			Origin: originOf(name), Created: time.Unix(0, 0),
			Texts: []source.Text{{Name: name + "/0.yaml", Data: []byte(edit("{name: note}", fmt.Sprintf("{name: note-%d}", i)))}},
		})
	}
	c.put("team-b:0", 1, noteRule)
	c.update()
	if n := len(c.Rules()); n != maxTenantRules+1 || len(c.byName) != n || len(c.refused) != many-maxTenantRules {
		t.Errorf("%d rules run, %d are remembered, and %d are passed over", n, len(c.byName), len(c.refused))
	}
	before := make(map[string]any)
	for name, r := range c.byName {
		before[name.String()] = r.program
	}
	c.reader.count()
	c.snapshot.Bundles[many-1].Texts[0].Data = []byte(edit("{name: note}", "{name: changed}"))
	c.update()
	for name, r := range c.byName {
		if before[name.String()] != any(r.program) {
			t.Errorf("rule %s was compiled again", name)
		}
	}
	if n := c.reader.count(); n > 0 {
		t.Errorf("%d schemas were asked for again", n)
	}
}

package lifecycletest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// The kinds that parents and children have.
const (
	configMap = "ConfigMap"
	secret    = "Secret"
	service   = "Service"
	thing     = "Thing"  // custom, namespaced
	beacon    = "Beacon" // custom, cluster-scoped
	item      = "Item"   // a parent, namespaced
	hub       = "Hub"    // a parent, cluster-scoped
)

// identity names an object.
type identity struct{ kind, namespace, name string }

func (id identity) String() string { return fmt.Sprintf("%s %s/%s", id.kind, id.namespace, id.name) }

// content is what the tests compare of an object: a flat map that each kind
// keeps where it has room for one.
type content map[string]string

// parent is an object that rules are for, as it was written last.
type parent struct {
	id      identity
	color   string
	items   []string
	on      bool // the predicate of rules that have one
	show    bool // the when of nodes that have one
	tier    bool // has the label that rules with a selector ask for
	suspend bool
	// born tells parents of one name apart.
	born int
	// ticks makes every write a new generation.
	ticks int
}

func (p *parent) clone() *parent {
	c := *p
	c.items = slices.Clone(p.items)
	return &c
}

// node is one entry of spec.children.
type node struct {
	letter    string
	kind      string
	suffix    string // changes the objects' names
	when      bool
	each      bool   // forEach over the parent's items
	reads     bool   // reads child a
	looks     bool   // reads the lookup
	policy    string // updatePolicy, where it is not Apply
	immutable bool   // the API server refuses changes
	ignore    bool
	adopt     bool
	away      bool // in the other namespace
	orphan    bool // stays when it is pruned or the parent goes
	creates   bool // has a createWhen, which is true while the parent is on
	updates   bool // has an updateWhen, the same
	ordered   bool // has a rollout, in order
}

// loose tells whether no owner reference can tie the node's objects to a parent.
func (nd node) loose(slot string) bool {
	return nd.orphan || parentKind(slot) == item && (nd.away || nd.kind == beacon)
}

// remade tells whether the node's objects are deleted and created again when they change.
func (nd node) remade() bool { return nd.policy == "Recreate" || nd.policy == "ApplyOrRecreate" }

// revision is the text of a rule.
type revision struct {
	version   string // part of each object and of the status
	nodes     []node
	selector  bool // asks for the label tier
	predicate bool
	optional  bool // whether the lookup is
	suspend   bool
	delete    bool // onRuleDeletion: Delete
	patches   bool // the target
	finalizes bool // has spec.finalize
}

// lastWords is the node of what a rule makes while a parent is being deleted.
const lastWords = "z"

// ties tells whether owner references tie a node's objects to a parent.
func (r *revision) ties(slot string, nd node) bool { return !r.finalizes && !nd.loose(slot) }

// looks tells whether the status has the lookup's value.
func (r *revision) looks() bool {
	return slices.ContainsFunc(r.nodes, func(n node) bool { return n.looks })
}

// Which parents the three rules of a sequence are for: slot r0 selects Items
// by the name of their namespace, r1 by its labels, r2 selects Hubs.
var slots = []string{"r0", "r1", "r2"}

func parentKind(slot string) string {
	if slot == "r2" {
		return hub
	}
	return item
}

// names are those of one sequence.
type names struct {
	group      string
	prefix     string // begins every name
	kanon      string // the namespace of rules
	home, away string // namespaces of parents and children
}

func (n names) lookup() identity { return identity{configMap, n.home, n.prefix + "look"} }

// childName is the name of a child, or the expression that gives it.
func childName(parent, slot string, nd node, item string) string {
	name := parent + "-" + slot + "-" + nd.letter + nd.suffix
	if nd.each {
		name += "-" + item
	}
	return name
}

// text is the rule as YAML; JSON is YAML.
func (n names) text(name, slot string, r *revision, broken bool) string {
	spec := map[string]any{
		"parent":          n.parentText(slot, r),
		"conditionPrefix": prefixOf(slot),
		"pruneLimit":      1000, // revisions here delete much, and mean it
		"status": map[string]any{slot: map[string]any{
			"version": r.version, "color": "${parent.spec.color}",
		}},
	}
	if r.looks() {
		spec["lookups"] = []any{map[string]any{
			"id": "look", "apiVersion": "v1", "kind": "ConfigMap",
			"name": n.lookup().name, "namespace": n.home, "optional": r.optional,
		}}
	}
	var children []any
	for _, nd := range r.nodes {
		children = append(children, n.nodeText(slot, r, nd))
	}
	spec["children"] = children
	if r.finalizes {
		spec["finalize"] = map[string]any{
			"children": []any{n.nodeText(slot, r, node{letter: lastWords, kind: configMap})},
			"until":    "${children." + lastWords + ".data.color == parent.spec.color}",
		}
	}
	if r.patches {
		spec["patches"] = []any{n.patchText(slot)}
	}
	if r.suspend {
		spec["suspend"] = true
	}
	if r.delete {
		spec["onRuleDeletion"] = "Delete"
	}
	if broken {
		spec["requeueAfter"] = "${nothing.of.that.name}"
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kanon.dev/v1alpha1", "kind": "Rule",
		"metadata": map[string]any{"name": name}, "spec": spec,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// prefixOf goes before the types of a rule's conditions.
func prefixOf(slot string) string { return "R" + slot[1:] }

func (n names) parentText(slot string, r *revision) map[string]any {
	spec := map[string]any{"apiVersion": n.group + "/v1", "kind": parentKind(slot)}
	labels := map[string]any{}
	if r.selector {
		labels["tier"] = "web"
	}
	switch slot {
	case "r0":
		spec["namespaces"] = []any{n.home}
	case "r1":
		spec["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"seq": n.prefix + "x", "env": "prod"}}
	case "r2":
		labels["seq"] = n.prefix + "x"
	}
	if len(labels) > 0 {
		spec["selector"] = map[string]any{"matchLabels": labels}
	}
	if r.predicate {
		spec["when"] = "${parent.spec.on}"
	}
	return spec
}

func (n names) nodeText(slot string, r *revision, nd node) map[string]any {
	values := map[string]any{"color": "${parent.spec.color}", "version": r.version}
	out := map[string]any{"id": nd.letter}
	if nd.when {
		out["when"] = "${parent.spec.show}"
	}
	if nd.each {
		out["forEach"] = []any{map[string]any{"name": "item", "in": "${parent.spec.items}"}}
		values["item"] = "${item}"
	}
	if nd.reads {
		values["read"] = "${children.a.data.color}"
	}
	if nd.looks {
		values["look"] = "${lookups.look.data.value}"
		if r.optional {
			values["look"] = "${lookups.?look.data.value.orValue('none')}"
		}
	}
	if nd.orphan {
		out["deletionPolicy"] = "Orphan"
	}
	if nd.creates {
		out["createWhen"] = "${parent.spec.on}"
	}
	if nd.updates {
		out["updateWhen"] = "${parent.spec.on}"
	}
	if nd.ordered {
		out["rollout"] = map[string]any{"maxUnavailable": 1, "order": "OrderedReady"}
	}
	if nd.policy != "" {
		out["updatePolicy"] = nd.policy
	}
	if nd.remade() {
		delete(values, "version") // what is remade often has to wait
	}
	if nd.ignore {
		out["ignore"] = []any{"data.free"}
		values["free"] = "${parent.spec.color}"
	}
	if nd.adopt {
		out["adopt"] = true
	}
	metadata := map[string]any{"name": childName("${parent.metadata.name}", slot, nd, "${item}")}
	if namespace := n.namespaceOf(nd); namespace != "" {
		metadata["namespace"] = namespace
	}
	template := map[string]any{"apiVersion": n.apiVersion(nd.kind), "kind": nd.kind, "metadata": metadata}
	switch nd.kind {
	case configMap:
		template["data"] = values
	case secret:
		template["stringData"] = values
	case service:
		template["spec"] = map[string]any{"selector": values, "ports": []any{map[string]any{"port": 80}}}
	default:
		template["spec"] = values
	}
	if nd.immutable {
		template["immutable"] = true
	}
	out["template"] = template
	return out
}

func (n names) apiVersion(kind string) string {
	switch kind {
	case configMap, secret, service:
		return "v1"
	default:
		return n.group + "/v1"
	}
}

func (n names) namespaceOf(nd node) string {
	switch {
	case nd.kind == beacon:
		return ""
	case nd.away:
		return n.away
	default:
		return n.home
	}
}

// values is what a child must contain.
func (nd node) values(r *revision, p *parent, item, look string) content {
	c := content{"color": p.color, "version": r.version}
	if nd.remade() {
		delete(c, "version")
	}
	if nd.each {
		c["item"] = item
	}
	if nd.reads {
		c["read"] = p.color
	}
	if nd.looks {
		c["look"] = look
	}
	return c
}

func (c content) String() string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(c)) {
		text += fmt.Sprintf(" %s=%s", key, c[key])
	}
	return "{" + text + " }"
}

func (nd node) String() string {
	text := nd.letter + nd.suffix
	for _, flag := range []struct {
		set  bool
		name string
	}{{nd.when, "when"}, {nd.adopt, "adopt"}} {
		if flag.set {
			text += "+" + flag.name
		}
	}
	return text
}

package plan

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/wire"
)

// retire keeps kinds that the children no longer have: as retired if the cluster has them, else as absent.
func (p *Plan) retire(kinds iter.Seq[schema.GroupVersionKind], mapper *restmapping.Mapper) {
	for gvk := range kinds {
		if _, used := p.Children[gvk]; used {
			continue
		}
		if kind, ok := mapper.Lookup(gvk); ok {
			p.Retired[gvk] = kind
		} else if !slices.Contains(p.Absent, gvk) {
			p.Absent = append(p.Absent, gvk)
		}
	}
}

// KeepInformers makes the plan watch children by the same informers as the plan that it replaces. They have the answers
// of its last writes; with other informers, a removal could end before it sees the last child. Call it before the plan
// is in use.
func (p *Plan) KeepInformers(previous *Plan) {
	maps.Copy(p.Whole, previous.Whole)
}

// ChildKey returns the informer of the children of one resource, which rules share.
func (p *Plan) ChildKey(gvr schema.GroupVersionResource) monitor.Key {
	return monitor.Key{GVR: gvr, Namespace: p.Identity.Home(), Selector: mark.LabelRule, Heads: !p.Whole[gvr]}
}

// EachChild yields the objects of the rule's children that informers show, without decoding them. Objects of a kind
// that is watched in two versions are yielded twice.
func (p *Plan) EachChild(monitors *monitor.Monitors) iter.Seq[*wire.Object] {
	return func(yield func(*wire.Object) bool) {
		for kind := range p.ChildKinds() {
			for _, child := range monitors.Unread(p.ChildKey(kind.GVR)) {
				if RuleOfTag(child) == p.ID && !yield(child) {
					return
				}
			}
		}
	}
}

// ShareInformers makes plans that are about to be used watch whole children if any plan does, so that one informer is
// enough. A plan in use keeps its informers, because another one would have to sync first. So when a rule begins to
// read a resource, the resource has two informers until the other rules are started again.
func ShareInformers(all, started []*Plan) {
	whole := make(map[schema.GroupVersionResource]bool)
	for _, p := range all {
		maps.Copy(whole, p.Whole)
	}
	for _, p := range started {
		for kind := range p.ChildKinds() {
			if whole[kind.GVR] {
				p.Whole[kind.GVR] = true
			}
		}
	}
}

// ChildKinds lists the kinds of which the rule may have children, including retired ones.
func (p *Plan) ChildKinds() iter.Seq[restmapping.Kind] {
	return func(yield func(restmapping.Kind) bool) {
		for _, kinds := range []map[schema.GroupVersionKind]restmapping.Kind{p.Children, p.Retired} {
			for _, kind := range kinds {
				if !yield(kind) {
					return
				}
			}
		}
	}
}

// Informers lists the informers that the rule needs, each once.
func (p *Plan) Informers() []monitor.Key {
	keys := []monitor.Key{p.ParentKey}
	for kind := range p.ChildKinds() {
		if key := p.ChildKey(kind.GVR); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, l := range p.Lookups {
		if !l.Borrowed && !slices.Contains(keys, l.Informer) {
			keys = append(keys, l.Informer)
		}
	}
	for _, patch := range p.Patches {
		if !patch.Borrowed && !slices.Contains(keys, patch.Informer) {
			keys = append(keys, patch.Informer)
		}
	}
	if p.NamespaceKey != nil && !slices.Contains(keys, *p.NamespaceKey) {
		keys = append(keys, *p.NamespaceKey)
	}
	return keys
}

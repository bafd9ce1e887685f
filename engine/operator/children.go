package operator

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
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

// ChildKey returns the informer of the children of one resource, which rules share.
func (p *Plan) ChildKey(gvr schema.GroupVersionResource) watch.Key {
	return watch.Key{GVR: gvr, Namespace: p.Identity.Home(), Selector: mark.LabelRule}
}

// EachChild yields the objects of the rule's children that informers show, without decoding them. Objects of a kind
// that is watched in two versions are yielded twice.
func (p *Plan) EachChild(monitors *watch.Monitors) iter.Seq[*watch.Object] {
	return func(yield func(*watch.Object) bool) {
		for kind := range p.ChildKinds() {
			for _, child := range monitors.Unread(p.ChildKey(kind.GVR)) {
				if RuleOfTag(child) == p.ID && !yield(child) {
					return
				}
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
func (p *Plan) Informers() []watch.Key {
	keys := []watch.Key{p.ParentKey}
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

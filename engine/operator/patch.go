package operator

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// Patch is one node of spec.patches, and where its targets are.
type Patch struct {
	program.Patch
	// Lookup finds the targets.
	Lookup
	// Manager is the field manager of what it sets.
	Manager string
}

// newPatch plans one node of spec.patches.
func (p *Plan) newPatch(patch *program.Patch, kind restmapping.Kind) Patch {
	planned := Patch{Patch: *patch, Manager: fieldset.PatchManager(p.ID, patch.ID)}
	if patch.Target == nil {
		planned.Lookup = Lookup{Kind: kind, Informer: p.ParentKey}
		return planned
	}
	planned.Lookup = newLookup(patch.Target, kind, p.Identity.Home())
	planned.Members = true // the content of a target only matters to the target's key
	return planned
}

// IsPrivate reports whether the name or the namespace of the target is computed from a Secret. PrivateName is then what
// people are told instead.
func (p Patch) IsPrivate() bool { return p.Target != nil && p.Target.Private }

// PrivateName names a target whose name must not be told.
func (p Patch) PrivateName() string { return "the target of patch " + p.ID }

// RefTo returns the reference to a target.
func (p Patch) RefTo(target types.NamespacedName) mark.Ref {
	return mark.Ref{Group: p.GVK.Group, Kind: p.GVK.Kind, Namespace: target.Namespace, Name: target.Name}
}

// IsWhole reports whether the informer shows every object that could ever have been a target.
func (p Patch) IsWhole() bool {
	return !p.Borrowed && p.Informer.Namespace == "" && p.Informer.Selector == ""
}

// InformerFor returns the informer that shows the targets in a namespace.
func (p Patch) InformerFor(namespace string) watch.Key {
	informer := p.Informer
	if p.Borrowed {
		informer.Namespace = namespace
	}
	return informer
}

// planPatches plans spec.patches.
func (p *Plan) planPatches(program *program.Program) {
	for _, patch := range program.Patches {
		kind, ok := p.kinds.found[patch.GVK]
		if patch.Target == nil {
			kind, ok = p.Parent, true
		}
		if !ok {
			continue // its targets do not exist
		}
		p.Patches[patch.ID] = p.newPatch(patch, kind)
	}
}

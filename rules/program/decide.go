package program

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/syntax"
)

// decide evaluates createWhen for an object that does not exist, and updateWhen and recreateWhen for one that does.
func (e *Evaluation) decide(child *Child, it *item, object *unstructured.Unstructured) *Problem {
	if child.CreateWhen == nil && !child.guarded() && !child.Renews() && child.Rollout == nil {
		return nil
	}
	var live, replaced *unstructured.Unstructured
	if e.reader != nil {
		var err error
		if live, err = e.reader.Live(object); err != nil {
			return Waiting("it is not known yet whether it exists: %s", err.Error())
		}
		if live == nil {
			replaced = e.reader.Replaced(object)
		}
	}
	it.before = live
	if kept := cmp.Or(live, replaced); kept != nil {
		if p := e.keepGenerated(child, it, object, kept); p != nil {
			return p
		}
	}
	if live == nil {
		holds, p := child.CreateWhen.Holds(&it.scope, "createWhen")
		if p == nil && !holds {
			it.fate = fateUncreated
		}
		return p
	}
	updates := child.UpdatePolicy != syntax.UpdateCreateOnly
	if updates {
		var p *Problem
		if updates, p = child.UpdateWhen.Holds(it.scope.of(live), "updateWhen"); p != nil {
			return p
		}
	}
	if !updates {
		it.fate, it.live = fateKept, live
	}
	return e.decideRecreation(child, it, live)
}

// guarded reports whether a live object of the child may have to stay as it is, or to keep values.
func (c *Child) guarded() bool {
	return c.UpdateWhen != nil || c.UpdatePolicy == syntax.UpdateCreateOnly || len(c.Generated) > 0
}

// Renews reports whether an object of the child may be deleted and created again.
func (c *Child) Renews() bool {
	return c.RecreateWhen != nil || c.UpdatePolicy == syntax.UpdateRecreate || c.UpdatePolicy == syntax.UpdateApplyOrRecreate
}

// decideRecreation evaluates recreateWhen for a live object that may be changed, and createWhen for its replacement: an
// object that could not be created again is not deleted. If recreateWhen waits, it counts as false. With CreateOnly, an
// object is recreated or left as it is.
func (e *Evaluation) decideRecreation(child *Child, it *item, live *unstructured.Unstructured) *Problem {
	once := child.UpdatePolicy == syntax.UpdateCreateOnly
	if !child.Renews() || it.fate != fateWritten && !once {
		return nil
	}
	if child.RecreateWhen != nil {
		s := it.scope.of(live)
		ok, p := child.RecreateWhen.IsTrue(s)
		if p != nil && p.Verdict != Waits {
			return p.Under("recreateWhen")
		}
		switch created := live.GetCreationTimestamp(); {
		case !ok:
		case wasTrue(child.RecreateWhen, s, created.Time):
			it.recreation = RecreationDue
		default:
			it.recreation = RecreationExpired
		}
	}
	if child.CreateWhen != nil {
		if ok, p := child.CreateWhen.IsTrue(&it.scope); p != nil || !ok {
			it.recreation = RecreationForbidden
		}
	}
	if once && it.recreation.IsDue() {
		it.fate, it.live = fateWritten, nil
	}
	return nil
}

// wasTrue reports whether an expression would have been true at an earlier time, if nothing but the time were
// different.
func wasTrue(x *Expression, s *scope, at time.Time) bool {
	then, clock := *s, run.NewClock(at)
	then.clock = &clock
	ok, p := x.IsTrue(&then)
	return ok || p != nil || at.IsZero()
}

// MayRecreate reports whether objects of a kind may be deleted and created again. It is false for kinds whose deletion
// destroys everything in them.
func MayRecreate(gvk schema.GroupVersionKind) bool {
	return !slices.Contains([]schema.GroupKind{
		{Kind: "Namespace"},
		{Kind: "PersistentVolume"},
		{Kind: "PersistentVolumeClaim"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	}, gvk.GroupKind())
}

// KeepsPods reports whether an object of a kind that is recreated with Orphan takes over the Pods of the one before.
func KeepsPods(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "apps" && slices.Contains([]string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}, gvk.Kind)
}

func (e *Evaluation) decideIgnored(child *Child, s *scope, id identity) *Problem {
	for i := range child.Handovers {
		h := &child.Handovers[i]
		holds, p := h.When.Holds(s, h.Place)
		if p != nil {
			return p
		}
		if !holds {
			continue
		}
		if e.ignores == nil {
			e.ignores = make(map[identity][]syntax.IgnorePath)
		}
		e.ignores[id] = append(e.ignores[id], h.Path)
	}
	return nil
}

// Ignores returns the fields of an object from Next that are left to others because the when of an ignore holds. They
// come in addition to Child.Ignore and are read-only.
func (e *Evaluation) Ignores(object *unstructured.Unstructured) []syntax.IgnorePath {
	return e.ignores[identityOf(object)]
}

func (e *Evaluation) decideDeletion(child *Child, s *scope, id identity) *Problem {
	out := child.Ending
	var p *Problem
	if t := child.EndingFrom.WhenPruned; t != nil {
		if out.WhenPruned, p = DeletionPolicyOf(t, s); p != nil {
			return p.Under("deletionPolicy")
		}
	}
	if t := child.EndingFrom.WhenDeleted; t != nil {
		if out.WhenDeleted, p = DeletionPolicyOf(t, s); p != nil {
			return p.Under("deletionPolicy")
		}
	}
	if out != (Ending{syntax.EndDelete, syntax.EndDelete}) {
		if e.deletions == nil {
			e.deletions = make(map[identity]Ending)
		}
		e.deletions[id] = out
	}
	return nil
}

// Ending returns the deletion policies of an object from Next.
func (e *Evaluation) Ending(object *unstructured.Unstructured) Ending {
	if out, ok := e.deletions[identityOf(object)]; ok {
		return out
	}
	return Ending{syntax.EndDelete, syntax.EndDelete}
}

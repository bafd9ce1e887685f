package guard_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// story has the guard of the revision that runs.
type story struct{ guard *guard.Guard }

func keyOf(parent string) queue.Key {
	return queue.Key{Rule: "rule", Parent: types.NamespacedName{Namespace: "team", Name: parent}}
}

func keysOf(parents []string) queue.Keys {
	keys := make(queue.Keys)
	for _, parent := range parents {
		keys[keyOf(parent)] = true
	}
	return keys
}

// objectsOf has an object for each KIND/NAME.
func objectsOf(names []string) (objects []identity.ID) {
	for _, text := range names {
		kind, name, _ := strings.Cut(text, "/")
		objects = append(objects, identity.ID{
			GroupKind: schema.ParseGroupKind(kind), NamespacedName: types.NamespacedName{Namespace: "team", Name: name},
		})
	}
	return objects
}

// do carries out one line of a story, and returns what comes of it.
func (s *story) do(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	g, command, args := s.guard, words[0], words[1:]
	switch command {
	case "revision": // HASH LIMIT KINDS...: from here on this one runs
		limit, err := strconv.Atoi(args[1])
		if err != nil {
			t.Fatal(err)
		}
		r := guard.Revision{Hash: args[0], Limit: limit}
		for _, kind := range args[2:] {
			r.Kinds = append(r.Kinds, schema.GroupVersionKind{Version: "v1", Kind: kind})
		}
		if g == nil || !g.Covers(r) {
			s.guard = guard.New(r)
		}
		return ""
	case "end":
		g.End()
		return ""
	case "begin": // PARENTS...
		return textOf(g.Begin(keysOf(args), false))
	case "begin-permitted": // PARENTS...
		return textOf(g.Begin(keysOf(args), true))
	case "decide": // PARENT OBJECTS...
		return verdict(g.Decide(keyOf(args[0]), objectsOf(args[1:])))
	case "doubt": // PARENT OBJECTS...
		return verdict(g.Doubt(keyOf(args[0]), objectsOf(args[1:])))
	case "confirm": // HASHES...
		return textOf(g.Confirm(args))
	case "assess":
		return textOf(g.Assess())
	case "permit":
		return textOf(guard.Decision{Requeue: g.Permit()})
	case "recreate": // PARENT
		may, blocked := g.MayRecreate(keyOf(args[0]))
		return fmt.Sprintf("may=%t blocked=%t", may, blocked)
	case "state":
		found := make(queue.Keys)
		g.AddKeys(found)
		return fmt.Sprintf("evaluated=%t released=%t parents=%s", g.IsEvaluated(), g.IsReleased(), names(slices.Collect(maps.Keys(found))))
	}
	t.Fatalf("no command %q", command)
	return ""
}

func verdict(next guard.Decision) string {
	text := "wait"
	if next.May {
		text = "may"
	}
	return strings.TrimSpace(text + " " + textOf(next))
}

func textOf(o guard.Decision) string {
	var words []string
	for _, word := range []struct {
		isTrue bool
		text   string
	}{
		{o.Request, "request"},
		{o.Awaits, "awaits"},
		{o.Evaluated, "evaluated"},
		{o.Report, "report"},
		{len(o.Requeue) > 0, "requeue=" + names(o.Requeue)},
	} {
		if word.isTrue {
			words = append(words, word.text)
		}
	}
	return strings.Join(words, " ")
}

func names(keys []queue.Key) string {
	var found []string
	for _, k := range keys {
		found = append(found, k.Parent.Name)
	}
	slices.Sort(found)
	return strings.Join(found, ",")
}

// Each line of a story is a call, and after => what it returns.
func TestGuard(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing is lost: the permission is requested once all have reported": `
			revision one 0
			begin a b
			decide a          => may
			state             => evaluated=false released=false parents=b
			decide b          => may request awaits evaluated report
			state             => evaluated=true released=false parents=
			permit
			state             => evaluated=true released=true parents=
			decide a Service/1 => may`,
		"no parents": `
			revision one 0
			begin             => request awaits evaluated report
			permit
			state             => evaluated=true released=true parents=`,
		"within the limit": `
			revision one 2
			begin a b
			decide a Service/1 => wait
			decide b Service/2 => wait request awaits evaluated report
			decide b Service/2 => wait awaits report
			permit            => requeue=a,b
			decide a Service/1 => may
			decide b Service/2 => may`,
		"beyond the limit: those that lose something are reconciled again, for their conditions": `
			revision one 1
			begin a b c
			decide a Service/1 => wait
			decide b Service/2 => wait
			decide c          => may evaluated report requeue=a,b
			decide a Service/1 => wait report
			permit
			state             => evaluated=true released=false parents=a,b`,
		"what a parent would lose changes": `
			revision one 1
			begin a b
			decide a Service/1 => wait
			decide b Service/2 => wait evaluated report requeue=a,b
			decide b          => may request awaits report
			permit            => requeue=a`,
		"what goes after a parent has lost nothing to the revision is its own doing": `
			revision one 0
			begin a b
			decide a          => may
			decide a Service/1 Service/2 => may`,
		"a parent that comes later": `
			revision one 0
			begin a
			decide late Service/1 => may`,
		"grave objects are never within the limit": `
			revision one 10
			begin a
			decide a PersistentVolumeClaim/v => wait evaluated report requeue=a`,
		"a Namespace is grave": `
			revision one 10
			begin a
			decide a Namespace/n => wait evaluated report requeue=a`,
		"a definition is grave": `
			revision one 10
			begin a
			decide a CustomResourceDefinition.apiextensions.k8s.io/d => wait evaluated report requeue=a`,
		"another group's Namespace is not": `
			revision one 10
			begin a
			decide a Namespace.example.com/n => wait request awaits evaluated report`,
		"a parent that cannot be evaluated counts with what it would lose at most": `
			revision one 1
			begin a b
			decide a Service/1 => wait
			doubt b Service/2 => wait evaluated report requeue=a
			decide b          => may request awaits report`,
		"doubts within the limit are released as well": `
			revision one 2
			begin a b
			decide a Service/1 => wait
			doubt b Service/2 => wait request awaits evaluated report
			permit            => requeue=a,b
			doubt b Service/2 => may`,
		"a doubt alone blocks without a report": `
			revision one 0
			begin a
			doubt a Service/1 => wait evaluated
			decide a Service/1 => wait report`,
		"a grave doubt": `
			revision one 10
			begin a
			doubt a PersistentVolumeClaim/v => wait evaluated`,
		"a parent without children is in no doubt": `
			revision one 0
			begin a
			doubt a           => may request awaits evaluated report`,
		"a parent that goes takes its losses along": `
			revision one 1
			begin a b
			decide a Service/1 => wait
			decide b Service/2 => wait evaluated report requeue=a,b
			decide b          => may request awaits report
			permit            => requeue=a`,
		"a parent that goes before it reports": `
			revision one 0
			begin a
			decide a          => may request awaits evaluated report
			decide a          => may`,
		"confirmed while parents report": `
			revision one 0
			begin a b
			decide a PersistentVolumeClaim/v => wait
			confirm other
			confirm other one => request awaits
			permit            => requeue=a
			state             => evaluated=true released=true parents=
			decide b PersistentVolumeClaim/w => may`,
		"confirmed once blocked": `
			revision one 0
			begin a
			decide a Service/1 => wait evaluated report requeue=a
			confirm one       => request awaits report
			permit            => requeue=a`,
		"confirmed before it begins": `
			revision one 0
			confirm one
			begin a           => request awaits
			permit
			decide a Service/1 => may`,
		"a confirmation that is taken back in time": `
			revision one 0
			confirm one
			confirm
			begin a
			decide a Service/1 => wait evaluated report requeue=a`,
		"a confirmation of the revision before": `
			revision one 0
			begin a
			revision two 0
			confirm one
			state             => evaluated=false released=false parents=
			begin a
			decide a Service/1 => wait evaluated report requeue=a`,
		"released by the record, as after a restart": `
			revision one 0
			begin-permitted a b
			state             => evaluated=true released=true parents=
			decide a Service/1 Service/2 => may
			confirm one
			assess`,
		"a revision that is taken back": `
			revision one 0
			begin-permitted a
			revision two 0
			begin a
			decide a Service/1 => wait evaluated report requeue=a
			revision one 0
			begin-permitted a
			decide a Service/1 => may`,
		"the record permits what nobody requested": `
			revision one 0
			begin a
			permit
			decide a Service/1 => wait evaluated report requeue=a
			permit
			state             => evaluated=true released=false parents=a`,
		"the permission is recorded late": `
			revision one 1
			begin a
			decide a Service/1 => wait request awaits evaluated report
			assess            => awaits report
			begin a b         => awaits report
			permit            => requeue=a
			assess`,
		"it begins once": `
			revision one 0
			begin a
			decide a          => may request awaits evaluated report
			begin a b         => awaits
			decide b Service/1 => may`,
		"a kind that comes back begins again": `
			revision one 0 Service
			begin a
			decide a          => may request awaits evaluated report
			permit
			revision one 0 Service ConfigMap
			state             => evaluated=false released=false parents=
			decide a ConfigMap/1 => wait
			begin a
			decide a ConfigMap/1 => wait evaluated report requeue=a`,
		"a kind that goes changes nothing": `
			revision one 0 Service ConfigMap
			begin a
			decide a          => may request awaits evaluated report
			permit
			revision one 0 Service
			state             => evaluated=true released=true parents=`,
		"a revision that has ended has no say": `
			revision one 0
			begin-permitted a b
			end
			decide a          => wait
			doubt a           => wait
			assess
			permit
			recreate a        => may=false blocked=false
			state             => evaluated=false released=false parents=`,
		"nothing has begun": `
			revision one 0
			state             => evaluated=false released=false parents=
			decide a          => wait
			recreate a        => may=false blocked=false`,
		"recreation waits as a deletion does": `
			revision one 0
			begin a b
			recreate a        => may=false blocked=false
			decide b          => may
			recreate b        => may=true blocked=false
			decide a Service/1 => wait evaluated report requeue=a
			recreate a        => may=false blocked=true
			confirm one       => request awaits report
			recreate a        => may=false blocked=false
			permit            => requeue=a
			recreate a        => may=true blocked=false`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
				call, want, _ := strings.Cut(line, "=>")
				if got := s.do(t, call); got != strings.TrimSpace(want) {
					t.Fatalf("line %d: %s => %s", i+1, strings.TrimSpace(line), got)
				}
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	many := func(kind string, n int) (objects []string) {
		for i := range n {
			objects = append(objects, fmt.Sprintf("%s/%02d", kind, i))
		}
		return objects
	}
	const first = `nothing is deleted until the rule, or the ConfigMap that contains it, is annotated kanon.dev/confirm-prune: "one"` +
		"\nthis revision of the rule would delete "
	for name, tt := range map[string]struct {
		steps []string
		want  string
	}{
		"nothing has begun":     {},
		"not all have reported": {[]string{"begin a b", "decide a Namespace/n"}, ""},
		"within the limit":      {[]string{"begin a", "decide a Service/1 Service/2"}, ""},
		"only doubts":           {[]string{"begin a", "doubt a Namespace/n"}, ""},
		"confirmed":             {[]string{"begin a", "decide a Namespace/n", "confirm one"}, ""},
		"released":              {[]string{"begin-permitted a"}, ""},
		"beyond the limit": {
			[]string{"begin a b", "decide a Service/2 Deployment.apps/x", "decide b Service/1"},
			first + "3 objects, and pruneLimit is 2: Deployment.apps team/x, Service team/1, Service team/2",
		},
		"a grave object comes first": {
			[]string{"begin a", "decide a ConfigMap/a PersistentVolumeClaim/z"},
			first + "2 objects, among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition: " +
				"PersistentVolumeClaim team/z, ConfigMap team/a",
		},
		"a doubt takes it beyond the limit": {
			[]string{"begin a b", "decide a Service/1", "doubt b Service/2 Service/3"},
			first + "1 object, and up to 2 more of 1 parent that cannot be evaluated now, and pruneLimit is 2: Service team/1",
		},
		"a grave doubt": {
			[]string{"begin a b c", "decide a Service/1", "doubt b Namespace/n", "doubt c"},
			first + "1 object, and up to 1 more of 1 parent that cannot be evaluated now: Service team/1",
		},
		"ten are named": {
			[]string{"begin a", "decide a " + strings.Join(many("Service", 10), " ")},
			first + "10 objects, and pruneLimit is 2: Service team/00, Service team/01, Service team/02, Service team/03, Service team/04, " +
				"Service team/05, Service team/06, Service team/07, Service team/08, Service team/09",
		},
		"and no more": {
			[]string{"begin a", "decide a " + strings.Join(many("Service", 12), " ")},
			first + "12 objects, and pruneLimit is 2: Service team/00, Service team/01, Service team/02, Service team/03, Service team/04, " +
				"Service team/05, Service team/06, Service team/07, Service team/08, Service team/09 and more: 2 Service",
		},
		"and no more, of several kinds": {
			[]string{"begin a", "decide a Secret/s Service/t Service/u " + strings.Join(many("ConfigMap", 10), " ")},
			first + "13 objects, and pruneLimit is 2: ConfigMap team/00, ConfigMap team/01, ConfigMap team/02, ConfigMap team/03, " +
				"ConfigMap team/04, ConfigMap team/05, ConfigMap team/06, ConfigMap team/07, ConfigMap team/08, ConfigMap team/09 " +
				"and more: 1 Secret, 2 Service",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			for _, step := range append([]string{"revision one 2"}, tt.steps...) {
				s.do(t, step)
			}
			got := ""
			if blocked := s.guard.Blocked(); blocked != nil {
				got = blocked.String()
			}
			if got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// What the guard blocks is there as values as well, for programs.
func TestBlockedValues(t *testing.T) {
	t.Parallel()
	var objects []string
	for i := range 12 {
		objects = append(objects, fmt.Sprintf("Service/%02d", i))
	}
	s := &story{}
	for _, step := range []string{"revision one 2", "begin a", "decide a Namespace/n " + strings.Join(objects, " ")} {
		s.do(t, step)
	}
	want := &guard.Blocked{
		Revision: "one", Reason: "would delete 13 objects, among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition",
		Objects: []string{"Namespace team/n"}, More: []string{"3 Service"},
	}
	for i := range 9 {
		want.Objects = append(want.Objects, fmt.Sprintf("Service team/%02d", i))
	}
	if diff := cmp.Diff(want, s.guard.Blocked()); diff != "" {
		t.Error(diff)
	}
}

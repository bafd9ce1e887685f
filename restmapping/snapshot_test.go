package restmapping

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic/fake"
)

func thing() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}
}

// thingKind is a kind as discovery shows it, with the definition given.
func thingKind(uid types.UID, generation int64) Kind {
	return Kind{
		GVK:        thing(),
		GVR:        thing().GroupVersion().WithResource("things"),
		Verbs:      sets.New("list", "watch"),
		Definition: Definition{UID: uid, Generation: generation},
	}
}

func snapshotOf(kinds ...Kind) *snapshot {
	s := &snapshot{
		kinds:     map[schema.GroupVersionKind]Kind{},
		resources: map[schema.GroupVersionResource]schema.GroupVersionKind{},
		versions:  sets.New[schema.GroupVersion](),
		failed:    map[schema.GroupVersion]error{},
	}
	for _, kind := range kinds {
		s.versions.Insert(kind.GVK.GroupVersion())
		s.add(kind)
	}
	return s
}

func TestDiff(t *testing.T) {
	namespaced := thingKind("a", 1)
	namespaced.Namespaced = true
	readOnly := thingKind("a", 1)
	readOnly.Verbs = sets.New("list")
	scaled := thingKind("a", 1)
	scaled.Subresources = sets.New("scale")

	failing := snapshotOf()
	failing.failed[thing().GroupVersion()] = errors.New("unreachable")

	only := []schema.GroupVersionKind{thing()}
	tests := map[string]struct {
		reason        string
		before, after *snapshot
		want          Change
	}{
		"first": {before: nil, after: snapshotOf(thingKind("", 0)), want: Change{Added: only}},
		"same":  {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(thingKind("a", 1))},
		"same, without a definition": {
			reason: "built-in kinds never have one",
			before: snapshotOf(thingKind("", 0)), after: snapshotOf(thingKind("", 0)),
		},
		"added":      {before: snapshotOf(), after: snapshotOf(thingKind("a", 1)), want: Change{Added: only}},
		"removed":    {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(), want: Change{Removed: only}},
		"generation": {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(thingKind("a", 2)), want: Change{Changed: only}},
		"uid": {
			reason: "it was deleted and created between two looks",
			before: snapshotOf(thingKind("a", 1)), after: snapshotOf(thingKind("b", 1)), want: Change{Changed: only},
		},
		"scope":        {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(namespaced), want: Change{Changed: only}},
		"verbs":        {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(readOnly), want: Change{Changed: only}},
		"subresources": {before: snapshotOf(thingKind("a", 1)), after: snapshotOf(scaled), want: Change{Changed: only}},
		"fails": {
			reason: "it is not certain any more that the group has no kind",
			before: snapshotOf(), after: failing, want: Change{Groups: []string{"g"}},
		},
		"fails no more": {before: failing, after: snapshotOf(), want: Change{Groups: []string{"g"}}},
		"fails still":   {before: failing, after: failing},
		"identified": {
			reason: "the schema may have changed since the lookup",
			before: snapshotOf(thingKind("", 0)), after: snapshotOf(thingKind("a", 2)), want: Change{Changed: only},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, diff(tc.before, tc.after)); d != "" {
				t.Errorf("wrong change (-want +got):\n%s\n%s", d, tc.reason)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	failing := snapshotOf()
	failing.failed[thing().GroupVersion()] = errors.New("unreachable")
	other := thing()
	other.Version = "other"
	tests := map[string]struct {
		reason  string
		known   *snapshot
		gvk     schema.GroupVersionKind
		unknown *UnknownKindError
		unsure  bool
	}{
		"known":         {known: snapshotOf(thingKind("a", 1)), gvk: thing()},
		"unknown":       {known: snapshotOf(), gvk: thing(), unknown: &UnknownKindError{GVK: thing()}},
		"other version": {known: snapshotOf(thingKind("a", 1)), gvk: other, unknown: &UnknownKindError{GVK: other, Served: []string{thing().Version}}},
		"not asked":     {gvk: thing(), unsure: true},
		"failing":       {known: failing, gvk: thing(), unsure: true},
		"failing version": {
			reason: "the kind may be served in the version that cannot be discovered",
			known:  failing, gvk: other, unsure: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &Mapper{}
			m.current.Store(tc.known)
			err := m.Missing(tc.gvk)
			unknown, _ := errors.AsType[*UnknownKindError](err)
			if d := cmp.Diff(tc.unknown, unknown); d != "" || errors.Is(err, ErrUnavailable) != tc.unsure {
				t.Errorf("the answer is %v; %s", err, tc.reason)
			}
		})
	}
}

func TestInherit(t *testing.T) {
	failed := snapshotOf()
	failed.failed[thing().GroupVersion()] = errors.New("unreachable")
	definitions := map[schema.GroupResource]Definition{{Group: "g", Resource: "things"}: {UID: "b", Generation: 3}}

	tests := map[string]struct {
		reason      string
		before, now *snapshot
		definitions map[schema.GroupResource]Definition
		want        []Kind
	}{
		"gone":          {before: snapshotOf(thingKind("a", 1)), now: snapshotOf()},
		"failed":        {before: snapshotOf(thingKind("a", 1)), now: failed, want: []Kind{thingKind("a", 1)}},
		"never known":   {before: nil, now: snapshotOf(thingKind("", 0)), want: []Kind{thingKind("", 0)}},
		"defined":       {before: nil, now: snapshotOf(thingKind("", 0)), definitions: definitions, want: []Kind{thingKind("b", 3)}},
		"still defined": {before: snapshotOf(thingKind("a", 1)), now: snapshotOf(thingKind("", 0)), definitions: definitions, want: []Kind{thingKind("b", 3)}},
		"definition gone": {
			reason: "the new definition, if one comes, must differ from the old",
			before: snapshotOf(thingKind("a", 1)), now: snapshotOf(thingKind("", 0)), want: []Kind{thingKind("a", 1)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.now.inherit(tc.before, tc.definitions)
			if d := cmp.Diff(snapshotOf(tc.want...).kinds, tc.now.kinds); d != "" {
				t.Errorf("wrong kinds (-want +got):\n%s\n%s", d, tc.reason)
			}
		})
	}
}

func TestUnsettled(t *testing.T) {
	things := schema.GroupResource{Group: "g", Resource: "things"}
	established := customResource{resource: things, kind: "Thing", served: sets.New("v1"), established: true}
	named := established
	named.established = false
	renamed := established
	renamed.kind = "Other"
	wider := established
	wider.namespaced = true
	further := established
	further.served = sets.New("v1", "v2")
	unserved := established
	unserved.served = sets.New[string]()

	remote := apiService{version: schema.GroupVersion{Group: "r", Version: "v1"}, remote: true, available: true}
	away := remote
	away.available = false
	failed := snapshotOf()
	failed.failed[remote.version] = errors.New("unreachable")
	failed.versions.Insert(remote.version)

	shown := snapshotOf(thingKind("", 0))
	tests := map[string]struct {
		definition *customResource
		service    *apiService
		gone       []schema.GroupResource
		shown      *snapshot
		want       []string
	}{
		"shown":                      {definition: &established, shown: shown},
		"not shown":                  {definition: &established, shown: snapshotOf(), want: []string{"things.g/v1"}},
		"not established":            {definition: &named, shown: snapshotOf()},
		"shown with the old kind":    {definition: &renamed, shown: shown, want: []string{"things.g/v1"}},
		"shown in the old scope":     {definition: &wider, shown: shown, want: []string{"things.g/v1"}},
		"a version not shown":        {definition: &further, shown: shown, want: []string{"things.g/v2"}},
		"a version not served":       {definition: &unserved, shown: shown, want: []string{"things.g/v1"}},
		"gone and not shown":         {gone: []schema.GroupResource{things}, shown: snapshotOf()},
		"gone and shown":             {gone: []schema.GroupResource{things}, shown: shown, want: []string{"things.g/v1"}},
		"gone and come back":         {definition: &established, gone: []schema.GroupResource{things}, shown: shown},
		"built in":                   {shown: shown},
		"remote and not shown":       {service: &remote, shown: snapshotOf(), want: []string{"r/v1"}},
		"remote and failing":         {service: &remote, shown: failed, want: []string{"r/v1"}},
		"remote and known as away":   {service: &away, shown: failed},
		"failing without APIService": {shown: failed, want: []string{"r/v1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := watchedDefinitions(t, tc.definition, tc.service)
			d.gone.Insert(tc.gone...)
			if diff := cmp.Diff(tc.want, d.unsettled(tc.shown)); diff != "" {
				t.Errorf("wrong list (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoneIsForgotten(t *testing.T) {
	d := watchedDefinitions(t, nil, nil)
	d.gone.Insert(schema.GroupResource{Group: "g", Resource: "things"})
	if d.unsettled(snapshotOf(thingKind("", 0))); len(d.gone) != 1 {
		t.Error("forgotten while it is shown")
	}
	if d.unsettled(snapshotOf()); len(d.gone) != 0 {
		t.Error("kept when it is not shown any more")
	}
}

// watchedDefinitions are definitions as informers would have filled them.
func watchedDefinitions(t *testing.T, c *customResource, s *apiService) *definitions {
	t.Helper()
	client := &fake.FakeDynamicClient{}
	d := &definitions{
		changed:         make(chan struct{}, 1),
		customResources: newDefinitionWatch(client, schema.GroupVersionResource{}),
		apiServices:     newDefinitionWatch(client, schema.GroupVersionResource{}),
		gone:            sets.New[schema.GroupResource](),
	}
	if c != nil {
		if err := d.customResources.informer.GetStore().Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if s != nil {
		if err := d.apiServices.informer.GetStore().Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

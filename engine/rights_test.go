package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
)

var (
	clusterRoles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roles               = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	roleBindings        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// rightsForParents is what an engine needs for the custom kinds of a world, and
// rightsForConfigMaps what it needs for children.
const (
	rightsForParents = `[{apiGroups: [$GROUP], resources: ["*"], verbs: ["*"]}, {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]},
  {apiGroups: [apiextensions.k8s.io, apiregistration.k8s.io], resources: [customresourcedefinitions, apiservices], verbs: [get, list, watch]}]`
	rightsForConfigMaps = `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}]`
)

// user is a name that has no rights.
func (w *world) user() string { return "kanon-" + w.home }

// grant gives a user rights, in the whole cluster, until the end of the test.
func (w *world) grant(user, part, rules string) {
	w.t.Helper()
	w.create(clusterRoles, w.object(fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s-%s}\nrules: %s\n", user, part, rules)))
	w.create(clusterRoleBindings, w.object(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s-%[2]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]
`, user, part)))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		for _, gvr := range []schema.GroupVersionResource{clusterRoleBindings, clusterRoles} {
			if err := w.client.Resource(gvr).Delete(ctx, user+"-"+part, metav1.DeleteOptions{}); err != nil {
				w.t.Errorf("remove %s: %v", gvr.Resource, err)
			}
		}
	})
}

// grantRecords lets a user read and write the records of rules.
func (w *world) grantRecords(user string) {
	w.t.Helper()
	w.create(roles, w.object("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: kanon, namespace: $KANON}\n"+
		"rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, create, patch, delete]}, "+
		"{apiGroups: [''], resources: [secrets], verbs: [get, list, watch, create, update]}]\n"))
	w.create(roleBindings, w.object(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kanon, namespace: $KANON}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kanon}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]
`, user)))
}

// runAs starts an engine that works with a user's rights; rules and verdicts go by
// the test's own.
func (w *world) runAs(user string, tweaks ...func(*engine.Options)) {
	w.t.Helper()
	w.grantRecords(user)
	config := rest.CopyConfig(w.config)
	config.Impersonate.UserName = user
	limited, err := watch.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		w.t.Fatal(err)
	}
	w.run(append(tweaks, func(o *engine.Options) {
		o.Sources = []engine.Source{source.NewConfigMaps(o.Client, w.kanon)}
		o.Client, o.Mapper = limited, mapper
	})...)
}

// A rule for whose children Kanon has no rights says so, and starts when it is
// given them, without a restart.
func TestRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	user := w.user()
	w.grant(user, "parents", rightsForParents)
	w.runAs(user)
	verdict := w.verdict("note", "configmaps is forbidden")
	for _, want := range []string{"it cannot start", "cannot list resource"} {
		if !strings.Contains(verdict, want) {
			t.Errorf("the verdict lacks %q: %s", want, verdict)
		}
	}
	w.grant(user, "children", rightsForConfigMaps)
	w.verdict("note", `"ready":true`)
	w.parent("Note", "late", "{}")
	w.await(configMaps, w.home, "late", "is made", exists)
}

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/rules/syntax"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// ruleText is the document of a rule; more goes to its spec.
func ruleText(name, more string) string {
	return fmt.Sprintf("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: %s}\nspec:\n  parent: {apiVersion: apps/v1, kind: Deployment}\n%s", name, more)
}

// configMap is a ConfigMap with rules, as it is listed. Its age is in minutes.
func configMap(name string, age int, report *source.Report, texts ...string) source.Listed {
	listed := source.Listed{Report: report}
	listed.Origin.ConfigMap.Namespace, listed.Origin.ConfigMap.Name = "kanon", name
	listed.Created = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute)
	for i, text := range texts {
		listed.Texts = append(listed.Texts, source.Text{Name: fmt.Sprintf("%s/%d.yaml", listed.Origin, i), Data: []byte(text)})
	}
	return listed
}

// ofWeb is a report on rule web.
func ofWeb(ready bool, message string) *source.Report {
	return &source.Report{Ready: ready, Message: "of all rules", Rules: []source.RuleReport{{Name: "web", Ready: ready, Message: message}}}
}

// recordOfWeb is the record of rule web.
func recordOfWeb(origin record.Origin, blocked *record.Blocked) record.Listed {
	listed := record.Listed{ID: mark.RuleID("kanon", "kanon", "web")}
	listed.Rule, listed.Origin, listed.Blocked = "kanon/web", origin, blocked
	listed.AddParent(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	return listed
}

// reported is the record of rule web in a file, with a report.
func reported(report *record.Report) record.Listed {
	listed := recordOfWeb(record.Origin{Path: "rules/web.yaml"}, nil)
	listed.Report = report
	return listed
}

const blocked = "PruneHeld: nothing is deleted until the rule, or the ConfigMap that contains it, is annotated kanon.dev/confirm-prune: \"5f2c\"\n" +
	"this revision of the rule would delete 2 objects, and pruneLimit is 1: Service a/x, Service a/y"

const headline = "PruneHeld: nothing is deleted until the rule, or the ConfigMap that contains it, is annotated kanon.dev/confirm-prune: \"5f2c\""

// revisionOfWeb is the revision of rule web.
func revisionOfWeb(t *testing.T) string {
	t.Helper()
	docs, _ := syntax.Decode("", []byte(ruleText("web", "")))
	return docs.Rules[0].Hash()
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		origins []source.Listed
		records []record.Listed
		// want has a line for each rule, and one for each problem.
		want string
	}{
		"none": {},
		"running": {
			origins: []source.Listed{configMap("web", 1, ofWeb(true, "running"), ruleText("web", ""))},
			want:    "kanon/web Running configmap/web Deployment: running\n",
		},
		"suspended": {
			origins: []source.Listed{configMap("web", 1, ofWeb(true, "suspended: nothing is written"), ruleText("web", "  suspend: true\n"))},
			want:    "kanon/web Suspended configmap/web Deployment: suspended: nothing is written\n",
		},
		"suspended, which Kanon has not seen yet": {
			origins: []source.Listed{configMap("web", 1, ofWeb(true, "running"), ruleText("web", "  suspend: true\n"))},
			want:    "kanon/web Unknown configmap/web Deployment: " + outdated + "\n",
		},
		"resumed, which Kanon has not seen yet": {
			origins: []source.Listed{configMap("web", 1, ofWeb(true, "suspended: nothing is written"), ruleText("web", ""))},
			want:    "kanon/web Unknown configmap/web Deployment: " + outdated + "\n",
		},
		"with findings": {
			origins: []source.Listed{configMap("web", 1, ofWeb(false, "a\nb"), ruleText("web", ""))},
			want:    "kanon/web Refused configmap/web Deployment: a\n",
		},
		"with a document that cannot be read whole": {
			origins: []source.Listed{configMap("web", 1, &source.Report{Message: "unknown field"}, ruleText("web", "  childs: []\n"))},
			want:    "kanon/web Refused configmap/web Deployment: unknown field\n",
		},
		"blocked by the prune guard": {
			origins: []source.Listed{configMap("web", 1, ofWeb(false, blocked), ruleText("web", ""))},
			records: []record.Listed{recordOfWeb(record.Origin{Namespace: "kanon", ConfigMap: "web"}, &record.Blocked{Revision: revisionOfWeb(t), Reason: "would delete 2 objects"})},
			want:    "kanon/web PruneHeld configmap/web Deployment: " + headline + " [" + revisionOfWeb(t) + " would delete 2 objects]\n",
		},
		"blocked, and recorded of another revision": {
			origins: []source.Listed{configMap("web", 1, ofWeb(false, blocked), ruleText("web", ""))},
			records: []record.Listed{recordOfWeb(record.Origin{Namespace: "kanon", ConfigMap: "web"}, &record.Blocked{Revision: "7a3d", Reason: "would delete 2 objects"})},
			want:    "kanon/web PruneHeld configmap/web Deployment: " + headline + " [" + revisionOfWeb(t) + " ]\n",
		},
		"blocked, as an earlier Kanon has it": {
			origins: []source.Listed{configMap("web", 1, ofWeb(false, blocked), ruleText("web", ""))},
			want:    "kanon/web PruneHeld configmap/web Deployment: " + headline + " [" + revisionOfWeb(t) + " ]\n",
		},
		"not reported on": {
			origins: []source.Listed{configMap("web", 1, nil, ruleText("web", ""))},
			want:    "kanon/web Unknown configmap/web Deployment: " + unreported + "\n",
		},
		"a text that is not YAML": {
			origins: []source.Listed{configMap("web", 1, &source.Report{Message: "not YAML"}, "a: [")},
			want:    "problem of configmap/kanon/web: not YAML\n",
		},
		"in a file": {
			records: []record.Listed{recordOfWeb(record.Origin{Path: "rules/web.yaml"}, nil)},
			want:    "kanon/web InFile rules/web.yaml Deployment: " + inFile + "\n",
		},
		"in a file, and running": {
			records: []record.Listed{reported(&record.Report{Ready: true, Message: "running"})},
			want:    "kanon/web Running rules/web.yaml Deployment: running\n",
		},
		"in a file, and suspended": {
			records: []record.Listed{reported(&record.Report{Ready: true, Message: source.MessageSuspended})},
			want:    "kanon/web Suspended rules/web.yaml Deployment: suspended: nothing is written\n",
		},
		"in a file, with findings": {
			records: []record.Listed{reported(&record.Report{Message: "a\nb"})},
			want:    "kanon/web Refused rules/web.yaml Deployment: a\n",
		},
		"in a file, whose definition would lose something": {
			records: []record.Listed{reported(&record.Report{Reason: "DefinitionHeld", Message: "a"})},
			want:    "kanon/web DefinitionHeld rules/web.yaml Deployment: a\n",
		},
		"in a file, and no longer blocked": {
			records: []record.Listed{reported(&record.Report{Reason: "PruneHeld", Message: blocked})},
			want:    "kanon/web InFile rules/web.yaml Deployment: " + inFile + "\n",
		},
		"in a file, and blocked": {
			records: []record.Listed{recordOfWeb(record.Origin{Path: "rules/web.yaml"}, &record.Blocked{Revision: "5f2c", Reason: "would delete 2 objects", Message: blocked})},
			want:    "kanon/web PruneHeld rules/web.yaml Deployment: " + headline + " [5f2c would delete 2 objects]\n",
		},
		"in a file, and blocked, as an earlier Kanon has it": {
			records: []record.Listed{recordOfWeb(record.Origin{Path: "rules/web.yaml"}, &record.Blocked{Message: blocked})},
			want:    "kanon/web PruneHeld rules/web.yaml Deployment: " + headline + " [ ]\n",
		},
		"removed": {
			records: []record.Listed{recordOfWeb(record.Origin{Namespace: "kanon", ConfigMap: "web"}, nil)},
			want:    "kanon/web Removing configmap/web Deployment: " + removing + "\n",
		},
		"two of one name: the older one has it": {
			origins: []source.Listed{
				configMap("young", 1, &source.Report{Message: "the name is taken"}, ruleText("web", "")),
				configMap("old", 2, ofWeb(true, "running"), ruleText("web", "")),
			},
			want: "kanon/web Running configmap/old Deployment: running\nproblem of configmap/kanon/young: the name is taken\n",
		},
		"two of one name: the one in the record has it": {
			origins: []source.Listed{
				configMap("young", 1, ofWeb(true, "running"), ruleText("web", "")),
				configMap("old", 2, &source.Report{Message: "the name is taken"}, ruleText("web", "")),
			},
			records: []record.Listed{recordOfWeb(record.Origin{Namespace: "kanon", ConfigMap: "young"}, nil)},
			want:    "kanon/web Running configmap/young Deployment: running\nproblem of configmap/kanon/old: the name is taken\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Rules{Namespace: "kanon"}
			r.build(tt.origins, tt.records)
			var got strings.Builder
			for _, rule := range r.All {
				fmt.Fprintf(&got, "%s %s %s %s: %s", rule.Name, rule.State, rule.Source(), rule.ParentKind().Kind, rule.Headline())
				if rule.PruneHeld != nil {
					fmt.Fprintf(&got, " [%s %s]", rule.PruneHeld.Revision, rule.PruneHeld.Reason)
				}
				got.WriteString("\n")
			}
			for _, problem := range r.Problems {
				fmt.Fprintf(&got, "problem of %s: %s\n", problem.Where, problem.Message)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := &Rules{Namespace: "kanon"}
	inTeam := strings.Replace(ruleText("web", ""), "name: web", "name: web, namespace: team", 1)
	r.build([]source.Listed{configMap("a", 1, nil, ruleText("web", "")), configMap("b", 1, nil, inTeam, ruleText("shop", ""))}, nil)
	for name, want := range map[string]string{
		"shop": "kanon/shop", "team/web": "team/web", "kanon/web": "kanon/web",
		"web":      "several rules are called web: name one of kanon/web, team/web",
		"shob":     "there is no rule shob (did you mean shop?)",
		"team/weg": "there is no rule team/weg (did you mean team/web?)",
		"zzz":      "there is no rule zzz; kanon get rules lists all",
	} {
		got := ""
		if rule, err := r.Find(name); err != nil {
			got = err.Error()
		} else {
			got = rule.Name.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Against a real API server: a ConfigMap, a Rule object where the kind exists, and the compiler with the cluster's kinds.
func TestList(t *testing.T) {
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	client, core := dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config).CoreV1()
	text := ruleText("web", "  children:\n  - {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '${parent.spec.replicas}'}}}\n")
	text = strings.Replace(text, "kind: Deployment}", "kind: Deployment, selector: {matchLabels: {tier: web}}}", 1)
	_, err := core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{source.LabelRules: "true"}},
		Data:       map[string]string{"web.yaml": text},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ListRules(t.Context(), client, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.All) != 1 || r.All[0].Name.String() != namespace+"/web" || r.All[0].State != Unknown || r.All[0].ID != mark.RuleID(namespace, namespace, "web") {
		t.Fatalf("%+v", r.All)
	}

	deployment := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: default, labels: {tier: web}}"), &deployment.Object); err != nil {
		t.Fatal(err)
	}
	namespaces := NamespaceLabels(t.Context(), client)
	if got := r.Selecting(deployment, namespaces); len(got) != 1 {
		t.Errorf("%d rules select the Deployment", len(got))
	}
	deployment.SetLabels(nil)
	if got := r.Selecting(deployment, namespaces); len(got) != 0 {
		t.Errorf("%d rules select a Deployment without the label", len(got))
	}
	if set, ok := namespaces(namespace); !ok || set["kubernetes.io/metadata.name"] != namespace {
		t.Errorf("labels of the namespace: %v %t", set, ok)
	}
	if _, ok := namespaces("no-such-namespace"); ok {
		t.Error("a namespace that does not exist has labels")
	}

	kinds, err := manifests.ClusterKinds(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	program, findings, err := (&Compiler{Kinds: kinds, Namespace: namespace}).Compile(t.Context(), r.All[0])
	if err != nil || program != nil || !strings.Contains(fmt.Sprint(findings), "int") {
		t.Errorf("an int in a ConfigMap's data: %v %v %v", program, findings, err)
	}
}

// Whoever has removed the managedFields of an object made it nobody's: a rule in a file did not write to it.
func TestWroteTo(t *testing.T) {
	t.Parallel()
	rule := &Rule{ID: "0123456789abcdef"}
	for name, tt := range map[string]struct {
		managers []string
		want     bool
	}{
		"no field managers": {nil, false},
		"another rule":      {[]string{"kanon-status-fedcba9876543210"}, false},
		"the rule":          {[]string{"kubectl", "kanon-status-0123456789abcdef"}, true},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		var entries []metav1.ManagedFieldsEntry
		for _, manager := range tt.managers {
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply})
		}
		object.SetManagedFields(entries)
		if got := rule.wroteTo(object); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The rules of tenants are listed with their texts, and select in their namespace alone. Whoever may not read a tenant's namespace is told
// so, and not that the rules are being removed.
func TestListTenants(t *testing.T) {
	t.Parallel()
	config := controlplanetest.Config(t)
	namespace, tenant := controlplanetest.Namespace(t, config), controlplanetest.Namespace(t, config)
	client, core := dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config)
	create := func(in, name, label string, data map[string]string) {
		t.Helper()
		_, err := core.CoreV1().ConfigMaps(in).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: "true"}}, Data: data,
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, origin := range map[string]string{"web": "rules", "gone": "deleted"} {
		create(namespace, "kanon-state-"+mark.RuleID(namespace, tenant, name), record.Label, map[string]string{
			"record":  fmt.Sprintf(`{"format":1,"rule":"%s/%s","origin":{"namespace":"%s","configMap":"%s"},"confined":true,"parents":[{"group":"apps","version":"v1","kind":"Deployment"}],"onRuleDeletion":"Orphan"}`, tenant, name, tenant, origin),
			"removal": map[string]string{"gone": "ServiceAccount x may not get notes"}[name],
		})
	}
	create(tenant, "rules", source.LabelRules, map[string]string{"web.yaml": ruleText("web", "")})
	show := func(client dynamic.Interface) (r *Rules, text string) {
		t.Helper()
		r, err := ListRules(t.Context(), client, namespace)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, rule := range r.All {
			lines = append(lines, fmt.Sprint(rule.Name.Name, " ", rule.State, " ", rule.Message, " ", rule.ID == mark.RuleID(namespace, tenant, rule.Name.Name)))
		}
		for _, problem := range r.Problems {
			lines = append(lines, "problem: "+problem.Where)
		}
		return r, strings.Join(lines, "\n")
	}

	r, got := show(client)
	if diff := cmp.Diff("gone Removing ServiceAccount x may not get notes true\nweb Unknown "+unreported+" true", got); diff != "" {
		t.Error(diff)
	}
	for where, want := range map[string]int{tenant: 1, "default": 0} {
		deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": where, "name": "d"}}}
		if found := r.Selecting(deployment, NamespaceLabels(t.Context(), client)); len(found) != want {
			t.Errorf("%d rules select a Deployment in %s, want %d", len(found), where, want)
		}
	}

	// Somebody who may read Kanon's namespace only.
	const user = "reader-of-kanon"
	_, err1 := core.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "kanon.dev"}, Resources: []string{"configmaps", "rules"}, Verbs: []string{"list"}},
	}}, metav1.CreateOptions{})
	_, err2 := core.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	limited := rest.CopyConfig(config)
	limited.Impersonate.UserName = user
	reader := kubernetes.NewForConfigOrDie(limited).CoreV1().ConfigMaps(namespace)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := reader.List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) {
			return false, nil // the API server does not know of the role or the binding yet
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, got := show(dynamic.NewForConfigOrDie(limited)); !strings.Contains(got, "gone Removing") || !strings.Contains(got, "web Unknown its text is in namespace "+tenant) || !strings.Contains(got, "problem: rules in namespace "+tenant) {
		t.Errorf("who may read Kanon's namespace only is told\n%s", got)
	}
}

package supportbundle

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/engine"
)

// selector selects Kanon's objects in its namespace, by the labels of deploy/.
const selector = "app.kubernetes.io/name=kanon"

// installation describes how Kanon is installed, and its state.
type installation struct {
	// Client is the version of the program that made the bundle.
	Client      string       `json:"clientVersion"`
	Server      string       `json:"serverVersion,omitempty"`
	Deployments []deployment `json:"deployments,omitempty"`
	Pods        []pod        `json:"pods,omitempty"`
	Lease       *lease       `json:"lease,omitempty"`
}

type deployment struct {
	Name     string   `json:"name"`
	Image    string   `json:"image"`
	Args     []string `json:"args,omitempty"`
	Replicas int32    `json:"replicas"`
	Ready    int32    `json:"ready"`
	// Resources are those of the container. Its environment is left out: it may contain passwords.
	Resources corev1.ResourceRequirements `json:"resources"`
}

type pod struct {
	Name     string `json:"name"`
	Node     string `json:"node,omitempty"`
	Phase    string `json:"phase"`
	Image    string `json:"image,omitempty"`
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts"`
	// Ended is the container's last termination.
	Ended *corev1.ContainerStateTerminated `json:"ended,omitempty"`
}

type lease struct {
	Holder      string            `json:"holder"`
	Renewed     *metav1.MicroTime `json:"renewed,omitempty"`
	Transitions int32             `json:"transitions"`
}

// addKanon adds the version of Kanon and how it is installed.
func (c *collector) addKanon(ctx context.Context) {
	const file = "kanon.yaml"
	found := installation{Client: c.Version}
	clients, err1 := kubernetes.NewForConfig(c.Config)
	server, err2 := discovery.NewDiscoveryClientForConfig(c.Config)
	if err := errors.Join(err1, err2); err != nil {
		c.lacks(file, err)
		return
	}
	version, err := server.ServerVersion()
	if err == nil {
		found.Server = version.GitVersion
	}
	c.lacks(file+": the version of the server", err)

	options := metav1.ListOptions{LabelSelector: selector}
	deployments, err := clients.AppsV1().Deployments(c.Namespace).List(ctx, options)
	c.lacks(file+": Deployments", err)
	if err == nil {
		for i := range deployments.Items {
			found.Deployments = append(found.Deployments, deploymentOf(&deployments.Items[i]))
		}
	}
	pods, err := clients.CoreV1().Pods(c.Namespace).List(ctx, options)
	c.lacks(file+": Pods", err)
	if err == nil {
		for i := range pods.Items {
			found.Pods = append(found.Pods, podOf(&pods.Items[i]))
		}
	}
	held, err := clients.CoordinationV1().Leases(c.Namespace).Get(ctx, engine.LeaseName, metav1.GetOptions{})
	if err == nil {
		found.Lease = leaseOf(held)
	} else if !apierrors.IsNotFound(err) { // without an election, there is none
		c.lacks(file+": the Lease", err)
	}
	c.addYAML(file, found)
}

func deploymentOf(d *appsv1.Deployment) deployment {
	out := deployment{Name: d.Name, Replicas: d.Status.Replicas, Ready: d.Status.ReadyReplicas}
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		out.Image, out.Args, out.Resources = containers[0].Image, containers[0].Args, containers[0].Resources
	}
	return out
}

func podOf(p *corev1.Pod) pod {
	out := pod{Name: p.Name, Node: p.Spec.NodeName, Phase: string(p.Status.Phase)}
	if states := p.Status.ContainerStatuses; len(states) > 0 {
		out.Image, out.Ready, out.Restarts, out.Ended = states[0].ImageID, states[0].Ready, states[0].RestartCount, states[0].LastTerminationState.Terminated
	}
	return out
}

func leaseOf(l *coordinationv1.Lease) *lease {
	out := &lease{Renewed: l.Spec.RenewTime}
	if l.Spec.HolderIdentity != nil {
		out.Holder = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseTransitions != nil {
		out.Transitions = *l.Spec.LeaseTransitions
	}
	return out
}

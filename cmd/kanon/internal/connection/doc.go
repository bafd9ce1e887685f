// Package connection connects a command to a cluster and finds objects there, with the flags and arguments of kubectl.
//
//	var cluster connection.Flags
//	cluster.Add(cmd.Flags(), connection.Group) // --kubeconfig, --context, --as and the others
//	...
//	object, rest, err := connection.ParseObject(cmd, args) // deployment web, or deployment/web
//	config, err := cluster.Reach(ctx, cmd.ErrOrStderr())   // an error within 5 s if it does not answer
//	live, err := object.Read(ctx, &cluster, config, client, namespace)
//
// It also completes kinds, names and parts of the kubeconfig.
package connection

// Package connection is how a command finds a cluster and the objects in it: by the flags and the arguments that kubectl has.
//
//	var cluster connection.Flags
//	cluster.Add(cmd.Flags(), connection.Group) // --kubeconfig, --context, --as and the others
//	...
//	object, rest, err := connection.ParseObject(cmd, args) // deployment web, or deployment/web
//	config, err := cluster.Reach(ctx, cmd.ErrOrStderr())   // an error within 5 s if it does not answer
//	live, err := object.Read(ctx, &cluster, config, client, namespace)
//
// Kinds, names and parts of the kubeconfig are completed from there as well.
package connection

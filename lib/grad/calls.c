/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions: their arguments checked, zeros made of what is missing. */
#include <weft/gradient.h>
#include <weft/shape.h>
#include "lib/grad/grad.h"
#include "lib/trace/trace.h"

/* Makes `status` an error of the graph under the name of the function, unless it has the name of an op; takes it. */
static void fail(weft_graph *graph, const char *function, weft_status *status)
{
    const char *where = weft_status_where(status);
    weft_code code = weft_status_code(status);
    bool plain = where[0] == '\0' && code != WEFT_OUT_OF_MEMORY;
    if (!plain) weft_graph_fail(graph, status);
    else weft_trace_fail(graph, code, function, "%s", weft_status_message(status));
    if (plain) weft_status_destroy(status);
}

static weft_tensor fail_all(weft_graph *graph, size_t count, weft_tensor *out_results)
{
    for (size_t i = 0; out_results != NULL && i < count; i++) out_results[i] = weft_tensor_failed(graph);
    return weft_tensor_failed(graph);
}

/* ---- arguments ---- */

typedef struct call {
    const char *function;
    weft_graph *graph; /* where it traces */
    weft_arena arena;
} call;

/* The graph of the first tensor that has one; false without any, or where a list is missing. */
static bool begin(call *c, const char *function, weft_tensors outputs, weft_tensors wrt, weft_tensors given)
{
    const weft_tensors lists[] = {outputs, wrt, given};
    *c = (call){.function = function};
    for (size_t i = 0; i < 3 && c->graph == NULL; i++) c->graph = weft_trace_graph(lists[i]);
    if (c->graph == NULL) return false;
    weft_arena_init(&c->arena, c->graph->allocator);
    return true;
}

/* In place of a number: there is one of it. */
#define ALONE SIZE_MAX

static bool refuse(call *c, weft_code code, const char *kind, size_t i, const char *what)
{
    if (i == ALONE) weft_trace_fail(c->graph, code, c->function, "%s %s", kind, what);
    else weft_trace_fail(c->graph, code, c->function, "%s %zu %s", kind, i, what);
    return false;
}

/* Whether the tensor is known where the call is. */
static bool check_place(call *c, const char *kind, size_t i, weft_tensor tensor)
{
    if (weft_graph_root(tensor.graph) != weft_graph_root(c->graph))
        return refuse(c, WEFT_INVALID_ARGUMENT, kind, i, "belongs to another graph");
    if (tensor.graph->sealed)
        return refuse(c, WEFT_INVALID_ARGUMENT, kind, i, "was made in the body of a region and is known only there");
    return true;
}

/* Whether it is a valid tensor of the root. A failed one needs no second error. */
static bool check_tensor(call *c, const char *kind, size_t i, weft_tensor tensor)
{
    if (tensor.graph == NULL) return refuse(c, WEFT_INVALID_ARGUMENT, kind, i, "is missing");
    return check_place(c, kind, i, tensor) && weft_tensor_is_valid(tensor);
}

static bool check_tensors(call *c, const char *kind, weft_tensors list)
{
    bool valid = weft_trace_wants_list(c->function, kind, c->graph, list.count, list.items);
    for (size_t i = 0; i < list.count && valid; i++) valid = check_tensor(c, kind, i, list.items[i]);
    return valid;
}

static const char *name_of(weft_tensor tensor)
{
    const char *name = weft_graph_node(tensor.graph, tensor.node)->name;
    return name == NULL ? "" : name;
}

static bool check_wrt(call *c, weft_tensors wrt)
{
    if (!check_tensors(c, "wrt", wrt)) return false;
    if (wrt.count == 0) {
        weft_trace_fail(c->graph, WEFT_INVALID_ARGUMENT, c->function, "%s", "wrt is empty");
        return false;
    }
    for (size_t i = 0; i < wrt.count; i++) {
        weft_dtype dtype = weft_tensor_dtype(wrt.items[i]);
        if (weft_gradient_has(dtype)) continue;
        const char *name = name_of(wrt.items[i]);
        weft_trace_fail(c->graph, WEFT_DTYPE_MISMATCH, c->function,
                        "wrt %zu%s%s is of %s, and only floats and complex numbers have derivatives", i,
                        name[0] == '\0' ? "" : ", ", name, weft_dtype_name(dtype));
        return false;
    }
    return true;
}

static bool check_loss(call *c, weft_tensor loss)
{
    if (!check_tensor(c, "the loss", ALONE, loss)) return false;
    weft_type type = {weft_tensor_dtype(loss), weft_tensor_shape(loss)};
    if (weft_dtype_info_of(type.dtype)->kind == WEFT_KIND_FLOAT && type.shape.rank == 0) return true;
    if (type.shape.rank == 0)
        weft_trace_fail(c->graph, WEFT_DTYPE_MISMATCH, c->function, "the loss is %s, but must be a float",
                        weft_type_describe(&type).text);
    else
        weft_trace_fail(c->graph, WEFT_SHAPE_MISMATCH, c->function,
                        "the loss is %s, but must be a float of rank 0: use weft_vjp, or reduce it",
                        weft_type_describe(&type).text);
    return false;
}

/* Whether `given`, if there is one, has the type of `of`. */
static bool check_given(call *c, const char *kind, const char *of_kind, size_t i, weft_tensor given, weft_tensor of)
{
    if (given.graph == NULL) return true;
    if (!check_place(c, kind, i, given) || !weft_tensor_is_valid(given)) return false;
    weft_type type = {weft_tensor_dtype(given), weft_tensor_shape(given)};
    weft_type wanted = {weft_tensor_dtype(of), weft_tensor_shape(of)};
    bool fits = type.dtype == wanted.dtype && type.shape.rank == wanted.shape.rank && weft_gradient_has(wanted.dtype);
    for (size_t axis = 0; axis < type.shape.rank && fits; axis++)
        fits = !weft_extent_never_equal(c->graph, type.shape.extents[axis], wanted.shape.extents[axis]);
    if (!fits) {
        weft_code code =
            type.dtype == wanted.dtype && weft_gradient_has(wanted.dtype) ? WEFT_SHAPE_MISMATCH : WEFT_DTYPE_MISMATCH;
        weft_trace_fail(c->graph, code, c->function, "%s %zu is %s, but %s %zu is %s%s", kind, i,
                        weft_type_describe(&type).text, of_kind, i, weft_type_describe(&wanted).text,
                        weft_gradient_has(wanted.dtype) ? "" : ", which has no derivative");
        return false;
    }
    for (size_t axis = 0; axis < type.shape.rank; axis++)
        weft_require_equal(c->graph, type.shape.extents[axis], wanted.shape.extents[axis],
                           "%s: %s %zu is %s, but %s %zu is %s", c->function, kind, i, weft_type_describe(&type).text,
                           of_kind, i, weft_type_describe(&wanted).text);
    return true;
}

static bool check_all_given(call *c, const char *kind, const char *of_kind, weft_tensors given, weft_tensors of)
{
    if (!weft_trace_wants_list(c->function, kind, c->graph, given.count, given.items)) return false;
    if (given.count != of.count) {
        weft_trace_fail(c->graph, WEFT_INVALID_ARGUMENT, c->function, "there %s %zu %s%s for %zu %s%s",
                        given.count == 1 ? "is" : "are", given.count, kind, given.count == 1 ? "" : "s", of.count,
                        of_kind, of_kind[0] == 'o' && of.count != 1 ? "s" : "");
        return false;
    }
    bool well = true;
    for (size_t i = 0; i < given.count && well; i++)
        well = check_given(c, kind, of_kind, i, given.items[i], of.items[i]);
    return well;
}

/* ---- results ---- */

/* Zeros where there is no tensor; writes the results. */
static weft_tensor end(call *c, weft_tensors like, weft_tensor *results, weft_tensor *out_results)
{
    bool well = results != NULL && weft_graph_error(weft_graph_root(c->graph)) == NULL;
    weft_tensor first = weft_tensor_failed(c->graph);
    for (size_t i = 0; i < like.count; i++) {
        weft_tensor made = well ? results[i] : weft_tensor_failed(c->graph);
        if (made.graph == NULL) made = weft_gradient_zeros(like.items[i]);
        if (out_results != NULL) out_results[i] = made;
        if (i == 0) first = made;
    }
    weft_arena_finish(&c->arena);
    return first;
}

static weft_tensor *allocate(call *c, size_t count)
{
    weft_tensor *tensors = weft_arena_allocate(&c->arena, (count + 1) * sizeof *tensors);
    for (size_t i = 0; tensors != NULL && i < count; i++) tensors[i] = WEFT_NO_TENSOR;
    if (tensors == NULL) weft_graph_fail(c->graph, weft_status_out_of_memory());
    return tensors;
}

static weft_tensor *pull(call *c, weft_tensors outputs, weft_tensors cotangents, weft_tensors wrt)
{
    weft_tensor *results = allocate(c, wrt.count);
    weft_status *status = results == NULL ? NULL : weft_gradient_pull(outputs, cotangents, wrt, NULL, results);
    if (status != NULL) fail(c->graph, c->function, status);
    return status == NULL ? results : NULL;
}

static weft_tensor *push(call *c, weft_tensors outputs, weft_tensors wrt, weft_tensors tangents)
{
    weft_tensor *results = allocate(c, outputs.count);
    weft_status *status = results == NULL ? NULL : weft_gradient_push(outputs, wrt, tangents, results);
    if (status != NULL) fail(c->graph, c->function, status);
    return status == NULL ? results : NULL;
}

/* ---- the functions ---- */

weft_tensor weft_vjp(weft_tensors outputs, weft_tensors cotangents, weft_tensors wrt, weft_tensor *out_cotangents)
{
    call c;
    if (!begin(&c, "vjp", outputs, wrt, cotangents)) return fail_all(NULL, wrt.count, out_cotangents);
    bool well = check_tensors(&c, "output", outputs) && check_wrt(&c, wrt) &&
                check_all_given(&c, "cotangent", "output", cotangents, outputs);
    return end(&c, wrt, well ? pull(&c, outputs, cotangents, wrt) : NULL, out_cotangents);
}

weft_tensor weft_jvp(weft_tensors outputs, weft_tensors wrt, weft_tensors tangents, weft_tensor *out_tangents)
{
    call c;
    if (!begin(&c, "jvp", outputs, wrt, tangents)) return fail_all(NULL, outputs.count, out_tangents);
    bool well = check_tensors(&c, "output", outputs) && check_wrt(&c, wrt) &&
                check_all_given(&c, "tangent", "wrt", tangents, wrt);
    return end(&c, outputs, well ? push(&c, outputs, wrt, tangents) : NULL, out_tangents);
}

static weft_tensor *gradient(call *c, weft_tensor loss, weft_tensors wrt)
{
    weft_tensor one = weft_scalar(c->graph, weft_tensor_dtype(loss), 1);
    return pull(c, (weft_tensors){1, &loss}, (weft_tensors){1, &one}, wrt);
}

weft_tensor weft_grad(weft_tensor loss, weft_tensors wrt, weft_tensor *out_gradients)
{
    call c;
    if (!begin(&c, "grad", (weft_tensors){1, &loss}, wrt, (weft_tensors){0, NULL}))
        return fail_all(NULL, wrt.count, out_gradients);
    bool well = check_loss(&c, loss) && check_wrt(&c, wrt);
    return end(&c, wrt, well ? gradient(&c, loss, wrt) : NULL, out_gradients);
}

/* Forward over reverse: the gradients as functions of `wrt` along the tangents. */
static weft_tensor *hessian_product(call *c, weft_tensor loss, weft_tensors wrt, weft_tensors tangents)
{
    weft_tensor *gradients = gradient(c, loss, wrt);
    if (gradients == NULL) return NULL;
    for (size_t i = 0; i < wrt.count; i++)
        if (gradients[i].graph == NULL) gradients[i] = weft_gradient_zeros(wrt.items[i]);
    return weft_graph_error(c->graph) == NULL ? push(c, (weft_tensors){wrt.count, gradients}, wrt, tangents) : NULL;
}

weft_tensor weft_hvp(weft_tensor loss, weft_tensors wrt, weft_tensors tangents, weft_tensor *out_products)
{
    call c;
    if (!begin(&c, "hvp", (weft_tensors){1, &loss}, wrt, tangents)) return fail_all(NULL, wrt.count, out_products);
    bool well = check_loss(&c, loss) && check_wrt(&c, wrt) && check_all_given(&c, "tangent", "wrt", tangents, wrt);
    return end(&c, wrt, well ? hessian_product(&c, loss, wrt, tangents) : NULL, out_products);
}

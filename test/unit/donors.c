/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that are computed element by element from donated inputs, and written over them: steps of training. */
#include "test/support.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { ROWS = 6, WIDTH = 5, HIDDEN = 4, MOST = 8, STEPS = 3, COUNT = 4096 };

/* ---- steps of every optimiser ---- */

typedef enum method { SGD, MOMENTUM, NESTEROV, ADAM, ADAMW, RMSPROP, CENTRED, ADAGRAD, LION, CLIPPED, METHODS } method;

/* So many tensors of state of each parameter. */
static const size_t state_counts[METHODS] = {[MOMENTUM] = 1, [NESTEROV] = 1, [ADAM] = 2, [ADAMW] = 2,  [RMSPROP] = 1,
                                             [CENTRED] = 2,  [ADAGRAD] = 1,  [LION] = 1, [CLIPPED] = 2};

static weft_tensor update(method m, weft_tensor p, weft_tensor g, weft_tensor step, const weft_tensor *s,
                          weft_tensor *next)
{
    weft_tensor rate = weft_rate_cosine(step, 0.01, 0.001, 2, 10);
    switch (m) {
    case SGD: return weft_sgd(p, g, rate, WEFT_NO_TENSOR, NULL, NULL);
    case MOMENTUM: return weft_sgd(p, g, rate, s[0], &(weft_sgd_options){.momentum = 0.9}, &next[0]);
    case NESTEROV:
        return weft_sgd(p, g, rate, s[0], &(weft_sgd_options){.momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
                        &next[0]);
    case ADAMW:
        return weft_adam(p, g, rate, step, s[0], s[1], &(weft_adam_options){.weight_decay = 0.01, .decoupled = true},
                         &next[0], &next[1]);
    case RMSPROP: return weft_rmsprop(p, g, rate, s[0], WEFT_NO_TENSOR, NULL, &next[0], NULL);
    case CENTRED:
        return weft_rmsprop(p, g, rate, s[0], s[1], &(weft_rmsprop_options){.momentum = 0.9}, &next[0], &next[1]);
    case ADAGRAD: return weft_adagrad(p, g, rate, step, s[0], &(weft_adagrad_options){.rate_decay = 0.1}, &next[0]);
    case LION: return weft_lion(p, g, rate, s[0], &(weft_lion_options){.weight_decay = 0.1}, &next[0]);
    default: return weft_adam(p, g, rate, step, s[0], s[1], NULL, &next[0], &next[1]);
    }
}

/* A step of a network of two layers. Inputs: its state, x, y; outputs: the state after it, and the loss. */
typedef struct training {
    weft_test_allocator test;
    weft_graph *graph;
    weft_executor *executor;
    weft_program *program;
    size_t state_count;
    weft_array *inputs[MOST + 2], *outputs[MOST + 1];
    bool donated[MOST + 2];
} training;

static weft_tensor loss_of(weft_tensor w, weft_tensor u, weft_tensor x, weft_tensor y)
{
    weft_tensor hidden = weft_tanh(weft_matmul(x, w));
    weft_tensor error = weft_sub(weft_matmul(hidden, u), y);
    return weft_mean(weft_mul(error, error), WEFT_INTS(0, 1), false);
}

static void trace(training *t, method m, weft_dtype dtype)
{
    const weft_shape shapes[2] = {WEFT_SHAPE(WIDTH, HIDDEN), WEFT_SHAPE(HIDDEN, WIDTH)};
    weft_tensor state[MOST], next[MOST + 1], gradients[2];
    char name[16];
    weft_test_ok(weft_graph_create(NULL, &t->graph));
    state[t->state_count++] = weft_input(t->graph, "step", WEFT_I64, WEFT_SHAPE());
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i <= state_counts[m]; i++) {
            snprintf(name, sizeof name, "p%d_%zu", p, i);
            weft_dtype own = i > 0 && weft_dtype_size(dtype) == 2 ? WEFT_F32 : dtype;
            state[t->state_count++] = weft_input(t->graph, name, own, shapes[p]);
        }
    }
    weft_tensor *w = &state[1], *u = &state[2 + state_counts[m]];
    weft_tensor x = weft_input(t->graph, "x", dtype, WEFT_SHAPE(ROWS, WIDTH));
    weft_tensor y = weft_input(t->graph, "y", dtype, WEFT_SHAPE(ROWS, WIDTH));
    next[t->state_count] = loss_of(*w, *u, x, y);
    (void)weft_grad(next[t->state_count], WEFT_TENSORS(*w, *u), gradients);
    if (m == CLIPPED) (void)weft_clip_gradients((weft_tensors){2, gradients}, 0.01, gradients);
    weft_tensor *const parameters[2] = {w, u};
    for (int p = 0; p < 2; p++) {
        size_t at = (size_t)(parameters[p] - state);
        next[at] = update(m, state[at], gradients[p], state[0], &state[at + 1], &next[at + 1]);
    }
    next[0] = weft_add(state[0], weft_scalar(t->graph, WEFT_I64, 1));
    weft_test_ok(weft_compile(t->graph, (weft_tensors){t->state_count + 1, next}, NULL, &t->program));
}

static void put(weft_array *array, size_t i, float value)
{
    void *data = weft_array_data(array);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    switch (weft_array_dtype(array)) {
    case WEFT_BF16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
    case WEFT_F32: ((float *)data)[i] = value; break;
    case WEFT_F64: ((double *)data)[i] = value; break;
    default: ((int64_t *)data)[i] = 0; break;
    }
}

/* Parameters and data; state begins with zeros. */
static bool is_zero(const training *t, size_t input)
{
    size_t each = (t->state_count - 1) / 2;
    return input < t->state_count && (input == 0 || (input - 1) % each != 0);
}

/* Of the program's type; with strides, every second element of rows twice as long. */
static weft_array *create(weft_dtype dtype, size_t rank, const int64_t *shape, bool strided)
{
    weft_array *array, *view;
    int64_t whole[2] = {rank > 0 ? shape[0] : 1, rank > 1 ? 2 * shape[1] : 1}, strides[2] = {whole[1], 2};
    weft_test_ok(weft_array_create(NULL, dtype, rank, strided ? whole : shape, &array));
    if (!strided || rank == 0) return array;
    weft_test_ok(weft_array_view(array, rank, shape, strides, 0, &view));
    weft_array_release(array);
    return view;
}

static void fill_inputs(training *t, bool strided)
{
    for (size_t i = 0; i < t->state_count + 2; i++) {
        int64_t shape[2] = {0};
        const weft_program_axis *axes = weft_program_input_axes(t->program, i);
        size_t rank = weft_program_input_rank(t->program, i);
        for (size_t axis = 0; axis < rank; axis++) shape[axis] = axes[axis].size;
        t->inputs[i] = create(weft_program_input_dtype(t->program, i), rank, shape, strided);
        size_t stride = strided && rank > 0 ? 2 : 1, count = (size_t)weft_array_count(t->inputs[i]);
        for (size_t k = 0; k < count; k++)
            put(t->inputs[i], k * stride, is_zero(t, i) ? 0 : (float)((k * 37 + i * 11) % 29) / 16 - 1);
        t->donated[i] = i < t->state_count;
    }
}

static void drop(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
    memset(arrays, 0, count * sizeof *arrays);
}

static weft_report run(training *t, bool donates)
{
    weft_report report;
    weft_test_ok(weft_executor_run(t->executor, t->program,
                                   &(weft_run){.input_count = t->state_count + 2,
                                               .inputs = t->inputs,
                                               .output_count = t->state_count + 1,
                                               .outputs = t->outputs,
                                               .donated = donates ? t->donated : NULL,
                                               .report = &report}));
    return report;
}

/* What comes out is the state of the next step. */
static void hand_on(training *t)
{
    for (size_t i = 0; i < t->state_count; i++) {
        weft_array_release(t->inputs[i]);
        t->inputs[i] = t->outputs[i];
        t->outputs[i] = NULL;
    }
    drop(t->state_count + 1, t->outputs);
}

/* Some steps; the state after them in `out_state`. */
static void train_apart(training *t, weft_array **out_state)
{
    fill_inputs(t, false);
    for (int step = 0; step < STEPS; step++) {
        run(t, false);
        hand_on(t);
    }
    memcpy(out_state, t->inputs, t->state_count * sizeof *out_state);
    drop(2, t->inputs + t->state_count);
}

static void expect_state(const training *t, weft_array *const *state)
{
    for (size_t i = 0; i < t->state_count; i++) {
        weft_array *found;
        const weft_array *wanted = state[i];
        weft_test_ok(weft_array_create(NULL, weft_array_dtype(wanted), weft_array_rank(wanted),
                                       weft_array_shape(wanted), &found));
        weft_test_ok(weft_array_copy(found, t->inputs[i]));
        assert_memory_equal(weft_array_data(found), weft_array_data(wanted),
                            (size_t)weft_array_count(wanted) * weft_dtype_size(weft_array_dtype(wanted)));
        weft_array_release(found);
    }
}

/* The state is given as the outputs too: nothing is allocated for a step, so no input is copied. */
static void train_in_place(training *t, bool strided, weft_array *const *wanted)
{
    size_t requests = 0;
    fill_inputs(t, strided);
    for (size_t i = 0; i < t->state_count; i++) t->outputs[i] = weft_array_retain(t->inputs[i]);
    t->outputs[t->state_count] = create(weft_program_input_dtype(t->program, t->state_count), 0, NULL, false);
    for (int step = 0; step < STEPS; step++) {
        requests = atomic_load(&t->test.requests);
        assert_true(run(t, true).peak_bytes < COUNT);
    }
    assert_int_equal(atomic_load(&t->test.requests), requests);
    expect_state(t, wanted);
    drop(t->state_count + 2, t->inputs);
    drop(t->state_count + 1, t->outputs);
}

/* No outputs are given: new ones have the memory of the state. */
static void train_without_outputs(training *t, weft_array *const *wanted)
{
    fill_inputs(t, false);
    for (int step = 0; step < STEPS; step++) {
        run(t, true);
        for (size_t i = 0; i < t->state_count; i++)
            assert_ptr_equal(weft_array_data(t->outputs[i]), weft_array_data(t->inputs[i]));
        hand_on(t);
    }
    expect_state(t, wanted);
    drop(t->state_count + 2, t->inputs);
}

static void expect_donors(const training *t)
{
    const weft_program_view *view;
    weft_test_ok(weft_program_view_create(t->program, &view));
    for (size_t i = 0; i < t->state_count; i++) assert_int_equal(view->outputs[i].donor, i);
    assert_true(view->outputs[t->state_count].donor == SIZE_MAX);
    weft_program_view_destroy(view);
}

static void check_training(method m, weft_dtype dtype, size_t threads)
{
    training t = {.state_count = 0};
    weft_array *wanted[MOST];
    weft_test_allocator_init(&t.test, WEFT_TEST_NEVER);
    weft_executor_options options = {.allocator = &t.test.allocator, .threads = threads, .buffer_capacity = 1};
    weft_test_ok(weft_executor_create_standard(&options, &t.executor));
    trace(&t, m, dtype);
    expect_donors(&t);
    train_apart(&t, wanted);
    train_in_place(&t, false, wanted);
    train_in_place(&t, true, wanted);
    train_without_outputs(&t, wanted);
    drop(t.state_count, wanted);
    weft_program_release(t.program);
    weft_executor_destroy(t.executor);
    weft_graph_destroy(t.graph);
    weft_test_allocator_check(&t.test);
}

static void steps_of_training_are_in_place(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_BF16};
    for (method m = SGD; m < METHODS; m++) check_training(m, dtypes[m % 3], 1 + 2 * (m % 2));
}

/* ---- single outputs ---- */

/* x, y: f32[32, 32], at: i64[1], and two outputs computed of some of them. */
typedef struct scene {
    weft_test_allocator test;
    weft_graph *graph;
    weft_tensor x, y, at;
    weft_executor *executor;
    weft_program *program;
    weft_array *arrays[3];         /* x, y, at */
    size_t input_count, places[3]; /* of the inputs among these */
    weft_array *outputs[2];
} scene;

enum { SIDE = 32, AREA = SIDE * SIDE };

static const char *const names[] = {"x", "y", "at"};

static void open_scene(scene *s, size_t threads)
{
    *s = (scene){.input_count = 0};
    weft_test_allocator_init(&s->test, WEFT_TEST_NEVER);
    weft_test_ok(weft_graph_create(NULL, &s->graph));
    s->x = weft_input(s->graph, "x", WEFT_F32, WEFT_SHAPE(SIDE, SIDE));
    s->y = weft_input(s->graph, "y", WEFT_F32, WEFT_SHAPE(SIDE, SIDE));
    s->at = weft_input(s->graph, "at", WEFT_I64, WEFT_SHAPE(1));
    const weft_executor_options options = {.allocator = &s->test.allocator, .threads = threads, .buffer_capacity = 1};
    weft_test_ok(weft_executor_create_standard(&options, &s->executor));
}

static void compile(scene *s, weft_tensor first, weft_tensor second)
{
    weft_test_ok(weft_compile(s->graph, WEFT_TENSORS(first, second), NULL, &s->program));
    s->input_count = weft_program_input_count(s->program);
    for (size_t i = 0; i < s->input_count; i++)
        while (strcmp(weft_program_input_name(s->program, i), names[s->places[i]]) != 0) s->places[i]++;
}

static float number(size_t array, size_t i)
{
    return (float)((i * 7 + array * 5) % 31) - 15;
}

static void fill_arrays(scene *s, int64_t at)
{
    for (size_t a = 0; a < 2; a++) {
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, (const int64_t[]){SIDE, SIDE}, &s->arrays[a]));
        for (size_t i = 0; i < AREA; i++) ((float *)weft_array_data(s->arrays[a]))[i] = number(a, i);
    }
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, (const int64_t[]){1}, &s->arrays[2]));
    *(int64_t *)weft_array_data(s->arrays[2]) = at;
}

/* With the inputs in `donated`, a set of numbers of arrays. */
static weft_status *try_run(scene *s, unsigned donated, const weft_run *other)
{
    weft_run call = *other;
    weft_array *inputs[3];
    bool flags[3];
    for (size_t i = 0; i < s->input_count; i++) {
        inputs[i] = s->arrays[s->places[i]];
        flags[i] = donated >> s->places[i] & 1;
    }
    call.input_count = s->input_count;
    call.inputs = inputs;
    call.donated = flags;
    call.output_count = 2;
    call.outputs = s->outputs;
    return weft_executor_run(s->executor, s->program, &call);
}

static void drop_arrays(scene *s)
{
    drop(3, s->arrays);
    drop(2, s->outputs);
}

static void close_scene(scene *s)
{
    weft_program_release(s->program);
    weft_executor_destroy(s->executor);
    weft_graph_destroy(s->graph);
    weft_test_allocator_check(&s->test);
}

static size_t donor_of(const scene *s, size_t output)
{
    const weft_program_view *view;
    weft_test_ok(weft_program_view_create(s->program, &view));
    size_t donor = view->outputs[output].donor;
    weft_program_view_destroy(view);
    return donor;
}

static bool is_kept(const scene *s, size_t array)
{
    const float *data = weft_array_data(s->arrays[array]);
    size_t i = 0;
    while (i < AREA && data[i] == number(array, i)) i++;
    return i == AREA;
}

/* Runs it with output 0 in the memory of `array`, and compares both outputs with those of a run in other memory. */
static void check_over(scene *s, size_t array)
{
    weft_array *expected[2];
    fill_arrays(s, 3);
    weft_test_ok(try_run(s, 0, &(weft_run){0}));
    memcpy(expected, s->outputs, sizeof expected);
    memset(s->outputs, 0, sizeof s->outputs);
    drop_arrays(s);
    fill_arrays(s, 3);
    s->outputs[0] = weft_array_retain(s->arrays[array]);
    weft_test_ok(try_run(s, 3, &(weft_run){0}));
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = (size_t)weft_array_count(expected[i]) * sizeof(float);
        assert_memory_equal(weft_array_data(s->outputs[i]), weft_array_data(expected[i]), bytes);
    }
    drop_arrays(s);
    drop(2, expected);
}

/* Once more, with memory for all outputs: nothing is allocated, so nothing is copied. */
static void check_uncopied(scene *s, size_t array)
{
    check_over(s, array);
    fill_arrays(s, 3);
    weft_test_ok(try_run(s, 0, &(weft_run){0}));
    weft_array_release(s->outputs[0]);
    s->outputs[0] = weft_array_retain(s->arrays[array]);
    weft_test_ok(try_run(s, 3, &(weft_run){0}));
    size_t requests = atomic_load(&s->test.requests);
    weft_test_ok(try_run(s, 3, &(weft_run){0}));
    assert_int_equal(atomic_load(&s->test.requests), requests);
    drop_arrays(s);
}

static void either_operand_may_be_the_output(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 2);
    compile(&s, weft_sub(s.x, weft_mul(s.y, s.y)), weft_reduce_sum(s.x, WEFT_INTS(0), false));
    assert_int_equal(donor_of(&s, 0), 0);
    check_uncopied(&s, 0);
    check_uncopied(&s, 1);
    for (unsigned donated = 1; donated < 4; donated++) {
        fill_arrays(&s, 3);
        weft_test_ok(try_run(&s, donated, &(weft_run){0}));
        assert_ptr_equal(weft_array_data(s.outputs[0]), weft_array_data(s.arrays[donated == 2]));
        drop_arrays(&s);
    }
    close_scene(&s);
}

/* Readers in another order come first, if the output is not for them. */
static void what_is_read_elsewhere_is_read_before(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 3);
    weft_tensor next = weft_add(s.x, weft_full_like(s.x, 1));
    compile(&s, next, weft_matmul(weft_transpose(s.x, 0, 1), s.y));
    assert_int_equal(donor_of(&s, 0), 0);
    check_uncopied(&s, 0);
    close_scene(&s);
    open_scene(&s, 3);
    next = weft_add(s.x, weft_full_like(s.x, 1));
    compile(&s, next, weft_matmul(next, s.x));
    assert_true(donor_of(&s, 0) == SIZE_MAX);
    check_over(&s, 0);
    close_scene(&s);
    open_scene(&s, 3); /* each reads what the other one is written over */
    compile(&s, weft_add(s.x, weft_transpose(s.y, 0, 1)), weft_mul(s.x, s.y));
    check_over(&s, 0);
    check_over(&s, 1);
    close_scene(&s);
    open_scene(&s, 3); /* not element by element */
    compile(&s, weft_add(s.x, weft_transpose(s.x, 0, 1)), weft_reduce_sum(s.y, WEFT_INTS(1), false));
    assert_true(donor_of(&s, 0) == SIZE_MAX);
    check_over(&s, 0);
    close_scene(&s);
    open_scene(&s, 3); /* the powers lie where the output is going to be, while y is still read */
    compile(&s, weft_mul(weft_softmax(s.x, -1), s.y), weft_reduce_sum(s.x, WEFT_INTS(0), false));
    assert_int_equal(donor_of(&s, 0), 0);
    check_over(&s, 0);
    check_over(&s, 1);
    fill_arrays(&s, 3);
    weft_test_ok(try_run(&s, 2, &(weft_run){0}));
    assert_ptr_not_equal(weft_array_data(s.outputs[0]), weft_array_data(s.arrays[1]));
    drop_arrays(&s);
    close_scene(&s);
}

/* ---- rows ---- */

typedef weft_tensor (*row_function)(weft_tensor x, int64_t axis);

static weft_tensor softmax(weft_tensor x, int64_t axis)
{
    return weft_softmax(x, axis);
}

static weft_tensor log_softmax(weft_tensor x, int64_t axis)
{
    return weft_log_softmax(x, axis);
}

static weft_tensor norm(weft_tensor x, int64_t axis)
{
    weft_tensor mean = weft_mean(x, WEFT_INTS(axis), true), centred = weft_sub(x, mean);
    weft_tensor square = weft_mean(weft_mul(centred, centred), WEFT_INTS(axis), true);
    return weft_mul(centred, weft_rsqrt(weft_add(square, weft_full_like(square, 1e-5))));
}

/* The last stage reads x once more, when its own result has the powers already. */
static weft_tensor gate(weft_tensor x, int64_t axis)
{
    return weft_mul(weft_softmax(x, axis), x);
}

/* Which rows are read to the end before their first element is written. */
static weft_tensor reversed(weft_tensor x, int64_t axis)
{
    return weft_sub(weft_flip(x, WEFT_INTS(axis)), weft_reduce_max(x, WEFT_INTS(axis), true));
}

typedef struct row_case {
    row_function function;
    bool is_donor; /* whether the result may be in the memory of x */
} row_case;

static void expect_rows_in_place(const row_case *c, weft_dtype dtype, int64_t axis, const int64_t *shape,
                                 size_t threads, bool symbols)
{
    weft_graph *graph;
    weft_executor *executor;
    weft_program *program;
    weft_array *x, *apart = NULL, *over = NULL;
    const weft_executor_options options = {.threads = threads};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_extent rows = symbols ? weft_symbol(graph, "n", 1, 1 << 20) : weft_extent_of(shape[0]);
    weft_extent columns = symbols ? weft_symbol(graph, "m", 1, 1 << 20) : weft_extent_of(shape[1]);
    weft_tensor y = c->function(weft_input(graph, "x", dtype, WEFT_SHAPE(rows, columns)), axis);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    weft_test_ok(weft_array_create(NULL, dtype, 2, shape, &x));
    for (size_t i = 0; i < (size_t)weft_array_count(x); i++) put(x, i, number(i % 5, i));
    weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &apart};
    weft_test_ok(weft_executor_run(executor, program, &run));
    run.outputs = &over;
    run.donated = (bool[]){true};
    weft_test_ok(weft_executor_run(executor, program, &run));
    assert_true((weft_array_data(over) == weft_array_data(x)) == c->is_donor);
    assert_memory_equal(weft_array_data(over), weft_array_data(apart),
                        (size_t)weft_array_count(x) * weft_dtype_size(dtype));
    drop(3, (weft_array *[]){x, apart, over});
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* What reads a row more than once before it writes it. */
static void rows_are_written_over(void **state)
{
    (void)state;
    static const row_case cases[] = {
        {softmax, true}, {log_softmax, true}, {norm, true}, {gate, false}, {reversed, false}};
    static const int64_t shapes[][2] = {{3, 5}, {70, 20}, {33, 65}, {5, 3000}, {200, 130}};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    size_t threads = 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int64_t axis = 0; axis < 2; axis++, threads = threads % 3 + 1)
                expect_rows_in_place(&cases[c], dtypes[(i + c) % 2], axis, shapes[i], threads, i % 2 == 1);
    expect_rows_in_place(&(row_case){norm, true}, WEFT_BF16, 1, shapes[4], 2, false);
}

/* ---- temporaries ---- */

/* Products that have memory of their own, with something elementwise between them; the bytes of temporaries. */
static size_t run_layers(unsigned threads, weft_product_policy products, float *out_values)
{
    scene s;
    weft_report report;
    open_scene(&s, threads);
    weft_tensor hidden = weft_matmul(s.x, s.y);
    for (int i = 0; i < 3; i++) hidden = weft_matmul(weft_tanh(hidden), s.y);
    weft_test_ok(weft_compile(s.graph, WEFT_TENSORS(hidden, weft_reduce_sum(s.x, WEFT_INTS(0), false)),
                              &(weft_policy){.size = sizeof(weft_policy), .products = products}, &s.program));
    s.input_count = 2;
    s.places[0] = strcmp(weft_program_input_name(s.program, 0), "x") != 0;
    s.places[1] = 1 - s.places[0];
    fill_arrays(&s, 0);
    weft_test_ok(try_run(&s, 0, &(weft_run){.report = &report}));
    memcpy(out_values, weft_array_data(s.outputs[0]), AREA * sizeof *out_values);
    drop_arrays(&s);
    close_scene(&s);
    return report.peak_bytes;
}

/* Each layer has its result in the place of its operand: there are two at a time, those of a product. */
static void temporaries_are_written_over(void **state)
{
    (void)state;
    float expected[AREA], values[AREA];
    (void)run_layers(1, WEFT_PRODUCTS_GENERATED, expected);
    for (unsigned threads = 1; threads < 4; threads++) {
        assert_in_range(run_layers(threads, WEFT_PRODUCTS_LIBRARY, values), 1, 2 * sizeof values);
        assert_memory_equal(values, expected, sizeof values);
    }
}

/* ---- runs that end early ---- */

/* What may fail comes before; what fails itself is no such output. */
static void errors_leave_inputs_as_they_were(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        scene s;
        open_scene(&s, 3);
        weft_tensor row = weft_gather(s.y, s.at, 0), next = weft_add(s.x, weft_full_like(s.x, 1));
        if (kind == 0) compile(&s, next, row);
        if (kind == 1) compile(&s, weft_add(s.x, row), weft_neg(s.y));
        if (kind == 2) compile(&s, next, weft_gather(next, s.at, 0));
        assert_true(donor_of(&s, 0) == (kind == 0 ? 0 : SIZE_MAX));
        check_over(&s, 0);
        fill_arrays(&s, SIDE);
        s.outputs[0] = weft_array_retain(s.arrays[0]);
        weft_test_fails(try_run(&s, 3, &(weft_run){0}), WEFT_DATA_ERROR, "index 32");
        assert_true(is_kept(&s, 0) && is_kept(&s, 1));
        drop_arrays(&s);
        close_scene(&s);
    }
}

typedef struct countdown {
    size_t left;
    volatile bool is_over;
} countdown;

static void count_down(void *self, const weft_profile_record *record)
{
    countdown *c = self;
    (void)record;
    c->is_over = c->left-- <= 1;
}

/* Cancelled after so many steps: all of it is done, or nothing that could be seen. */
static bool is_cancelled_after(scene *s, size_t steps)
{
    countdown c = {.left = steps};
    const weft_run how = {.cancelled = &c.is_over, .profile = &(weft_profile){.self = &c, .record = count_down}};
    fill_arrays(s, 3);
    for (size_t i = 0; i < 2; i++) s->outputs[i] = weft_array_retain(s->arrays[i]);
    weft_status *status = try_run(s, 3, &how);
    bool cancelled = status != NULL;
    if (cancelled) weft_test_fails(status, WEFT_CANCELLED, "");
    assert_true(is_kept(s, 0) == cancelled && is_kept(s, 1) == cancelled);
    drop_arrays(s);
    return cancelled;
}

static void what_is_written_over_is_completed(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 1);
    weft_tensor product = weft_matmul(weft_transpose(s.x, 0, 1), s.y);
    compile(&s, weft_add(s.x, product), weft_sub(s.y, product));
    assert_true(is_cancelled_after(&s, 1));
    assert_false(is_cancelled_after(&s, 2));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_training_are_in_place),
        cmocka_unit_test(either_operand_may_be_the_output),
        cmocka_unit_test(what_is_read_elsewhere_is_read_before),
        cmocka_unit_test(temporaries_are_written_over),
        cmocka_unit_test(rows_are_written_over),
        cmocka_unit_test(errors_leave_inputs_as_they_were),
        cmocka_unit_test(what_is_written_over_is_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

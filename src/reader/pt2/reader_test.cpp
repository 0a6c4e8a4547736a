#include "reader/pt2/reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "aten/program.h"
#include "container/archive_builder_test.h"
#include "container/memory_file.h"
#include "ir/print.h"
#include "reader/pt2/archive_text_test.h"

namespace flambeau {
namespace {

using testing::FirstError;
using testing::NodeText;
using testing::Pack;
using testing::PackArchive;
using testing::ProgramText;
using testing::ReadBytes;
using testing::ReadText;
using testing::Stored;
using testing::TensorMetaText;

constexpr std::string_view kX = "{'as_tensor': {'name': 'x'}}";
constexpr std::string_view kY = "{'as_tensor': {'name': 'y'}}";
constexpr std::string_view kZ = "{'as_tensor': {'name': 'z'}}";

std::string Input(std::string_view name, std::string_view argument) {
  return fmt::format("{{'name': '{}', 'arg': {}, 'kind': 1}}", name, argument);
}

// The call's text in the graph if `argument` is that of a custom operator's
// argument `a`, or the error.
std::string ReadCall(std::string_view argument) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.my.op.default", Input("a", argument), kY);
  const std::string text = ReadText(PackArchive(program));
  const size_t begin = text.find("my::op(");
  if (begin == std::string::npos) return text;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Pt2ReaderTest, ReadsEveryKindOfArgument) {
  EXPECT_EQ(ReadCall("{'as_none': true}"), "my::op(a=None)");
  EXPECT_EQ(ReadCall(kX), "my::op(a=%x)");
  EXPECT_EQ(ReadCall("{'as_tensors': [{'name': 'x'}, {'name': 'x'}]}"), "my::op(a=[%x, %x])");
  EXPECT_EQ(ReadCall("{'as_optional_tensor': {'as_tensor': {'name': 'x'}}}"), "my::op(a=%x)");
  EXPECT_EQ(ReadCall("{'as_optional_tensor': {'as_none': true}}"), "my::op(a=None)");
  EXPECT_EQ(ReadCall("{'as_optional_tensors': [{'as_none': true}, {'as_tensor': {'name': 'x'}}]}"),
            "my::op(a=[None, %x])");
  EXPECT_EQ(ReadCall("{'as_int': -9223372036854775808}"), "my::op(a=-9223372036854775808)");
  EXPECT_EQ(ReadCall("{'as_ints': [1, -2]}"), "my::op(a=[1, -2])");
  EXPECT_EQ(ReadCall("{'as_float': 2.5}"), "my::op(a=2.5)");
  EXPECT_EQ(ReadCall("{'as_float': '-Infinity'}"), "my::op(a=-inf)");
  EXPECT_EQ(ReadCall("{'as_floats': [2.5, 3]}"), "my::op(a=[2.5, 3.0])");
  EXPECT_EQ(ReadCall("{'as_bool': true}"), "my::op(a=True)");
  EXPECT_EQ(ReadCall("{'as_bools': [true, false]}"), "my::op(a=[True, False])");
  EXPECT_EQ(ReadCall("{'as_string': 'sum'}"), "my::op(a=\"sum\")");
  EXPECT_EQ(ReadCall("{'as_strings': ['a', 'b']}"), "my::op(a=[\"a\", \"b\"])");
  EXPECT_EQ(ReadCall("{'as_complex': {'real': 1.0, 'imag': -2.0}}"), "my::op(a=complex(1.0, -2.0))");
  EXPECT_EQ(ReadCall("{'as_sym_int': {'as_int': 4}}"), "my::op(a=4)");
  EXPECT_EQ(ReadCall("{'as_sym_float': {'as_float': 0.5}}"), "my::op(a=0.5)");
  EXPECT_EQ(ReadCall("{'as_sym_bool': {'as_bool': true}}"), "my::op(a=True)");
  EXPECT_EQ(ReadCall("{'as_sym_bools': [{'as_bool': true}]}"), "my::op(a=[True])");
  EXPECT_EQ(ReadCall("{'as_sym_floats': [{'as_float': 1.5}]}"), "my::op(a=[1.5])");
  EXPECT_EQ(ReadCall("{'as_scalar_type': 13}"), "my::op(a=bf16)");
  EXPECT_EQ(ReadCall("{'as_memory_format': 2}"), "my::op(a=channels_last)");
  EXPECT_EQ(ReadCall("{'as_layout': 7}"), "my::op(a=strided)");
  EXPECT_EQ(ReadCall("{'as_device': {'type': 'cuda', 'index': 1}}"), "my::op(a=device(\"cuda:1\"))");
  EXPECT_EQ(ReadCall("{'as_device': {'type': 'cpu'}}"), "my::op(a=device(\"cpu\"))");
  EXPECT_EQ(ReadCall("{'as_operator': 'torch.ops.aten.add.Tensor'}"), "my::op(a=\"torch.ops.aten.add.Tensor\")");
  EXPECT_EQ(
      ReadCall(
          "{'as_string_to_argument': {'p': {'as_int': 1}, 'q': {'as_string_to_argument': {'r': {'as_bool': true}}}}}"),
      "my::op(a.p=1, a.q.r=True)");
}

TEST(Pt2ReaderTest, LocatesArgumentsThatMakeNoSense) {
  const std::string at = " [m/models/model.json#/graph_module/graph/nodes/0/inputs/0/arg";
  EXPECT_EQ(ReadCall("{'as_quaternion': 1}"),
            "bad-json: 'as_quaternion' is no kind of argument that this version of Flambeau knows" + at + "]");
  EXPECT_EQ(ReadCall("{'as_int': 1, 'as_float': 2.0}"),
            "bad-json: expected an object with one member, found 2 members" + at + "]");
  EXPECT_EQ(ReadCall("{}"), "bad-json: expected an object with one member, found 0 members" + at + "]");
  EXPECT_EQ(ReadCall("{'as_int': 'one'}"), "bad-json: expected an integer, found a string 'one'" + at + "/as_int]");
  EXPECT_EQ(ReadCall("{'as_tensor': {'name': 'w'}}"),
            "bad-program: 'w' is used before it is defined" + at + "/as_tensor/name]");
  EXPECT_EQ(ReadCall("{'as_scalar_type': 99}"),
            "bad-json: 99 is no scalar type that this version of Flambeau knows" + at + "/as_scalar_type]");
  EXPECT_EQ(ReadCall("{'as_memory_format': 0}"),
            "bad-json: 0 is no memory format that this version of Flambeau knows" + at + "/as_memory_format]");
  EXPECT_EQ(
      ReadCall("{'as_sym_int': {'as_tensor': 1}}"),
      "bad-json: 'as_tensor' is no kind of symbolic number that this version of Flambeau knows" + at + "/as_sym_int]");
  // The builder refuses it; the reader says where it stands.
  EXPECT_EQ(ReadCall("{'as_nested_tensors': [[{'name': 'x'}]]}"),
            "bad-program: argument 'a' has a value that no argument can have "
            "[m/models/model.json#/graph_module/graph/nodes/0]");
}

TEST(Pt2ReaderTest, FillsInTheSchemaAndTheOrigin) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.aten.add.Tensor", Input("self", kX) + ", " + Input("other", "{'as_int': 1}"), kY,
                           R"({'stack_trace': '  File \"/src/net.py\", line 7, in forward\n    return x + 1\n',)"
                           " 'nn_module_stack': 'L__self__,,net.Net;L__self___a,a@1,net.Block[(1, 2)]'}");
  program.outputs = kY;
  program.output_specs = "{'user_output': {'arg': {'as_tensor': {'name': 'y'}}}}";
  Sink sink;
  auto read = ReadBytes(PackArchive(program), sink);
  ASSERT_TRUE(read) << FirstError(sink);
  Program::Impl& impl = read->impl();
  const NodeId node = impl.graph[impl.graph.main()].first;
  EXPECT_EQ(PrintNode(impl.graph, node), "%y: f32[2, 3]{3, 1} = aten::add.Tensor(self=%x, other=1, alpha=1)");
  const Origin& origin = (*impl.context)[impl.graph[node].origin];
  ASSERT_EQ(origin.modules.size(), 2u);
  EXPECT_EQ(impl.context->Text(origin.modules[0].path), "");
  EXPECT_EQ(impl.context->Text(origin.modules[1].path), "a");
  EXPECT_EQ(impl.context->Text(origin.modules[1].class_name), "net.Block[(1, 2)]");
  EXPECT_EQ(SourceLine(impl.context->Text(origin.stack_trace)), "net.py:7");
  EXPECT_EQ(impl.context->Text(origin.node_name), "y");
  EXPECT_EQ(impl.torch_version, "2.99.0");
}

TEST(Pt2ReaderTest, EffectsAreCallsInOrder) {
  auto text = [](std::string_view op) {
    ProgramText program;
    program.nodes = NodeText("torch.ops.higher_order.with_effects",
                             Input("", kX) + ", " + Input("", op) + ", " + Input("", kX), fmt::format("{}, {}", kY, kZ));
    program.outputs = kZ;
    program.output_specs = "{'user_output': {'arg': {'as_tensor': {'name': 'z'}}}}";
    return ReadText(PackArchive(program));
  };
  EXPECT_EQ(text("{'as_operator': 'torch.ops.aten.relu.default'}"),
            "strides known\ngraph(%x: f32[2, 3]) {\n  %z: f32[2, 3] = aten::relu(self=%x)\n  return %z\n}\n");
  const std::string error = "bad-program: with_effects takes a token and an operator, and returns the token";
  EXPECT_TRUE(text("{'as_int': 1}").starts_with(error));
  EXPECT_TRUE(text("{'as_operator': 'torch.ops.higher_order.with_effects'}").starts_with(error));
}

TEST(Pt2ReaderTest, LocatesACallThatDoesNotFitItsSchema) {
  ProgramText program;
  program.nodes =
      NodeText("torch.ops.aten.add.Tensor", Input("self", kX), kY,
               R"({'stack_trace': 'File \"/src/net.py\", line 7, in forward', 'nn_module_stack': 'k,a.b,net.Block'})");
  Sink sink;
  EXPECT_FALSE(ReadBytes(PackArchive(program), sink));
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  const Diagnostic& error = sink.diagnostics()[0];
  EXPECT_EQ(error.message, "argument 'other' is missing");
  EXPECT_EQ(error.location.entry, "m/models/model.json#/graph_module/graph/nodes/0");
  EXPECT_EQ(error.location.module, "a.b");
  EXPECT_EQ(error.location.source, "net.py:7");
}

TEST(Pt2ReaderTest, GivesUpOnAProgramThatIsWrongThroughout) {
  ProgramText program;
  for (int i = 0; i < 100; ++i) program.nodes += (i == 0 ? "" : ", ") + NodeText("torch.ops.aten.relu.default", "", "");
  Sink sink;
  EXPECT_FALSE(ReadBytes(PackArchive(program), sink));
  EXPECT_EQ(sink.diagnostics().size(), 20u);
  EXPECT_EQ(sink.diagnostics().back().location.entry, "m/models/model.json#/graph_module/graph/nodes/19");
}

TEST(Pt2ReaderTest, SaysNothingOfWhatIsUnfinishedBecauseItFailed) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.higher_order.cond",
                           Input("", "{'as_graph': {'name': 'g', 'graph': {'inputs': [], 'nodes': 7}}}"), "");
  Sink sink;
  EXPECT_FALSE(ReadBytes(PackArchive(program), sink));
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].message, "expected an array, found an integer");
}

TEST(Pt2ReaderTest, FlattensResults) {
  ProgramText program;
  program.nodes =
      NodeText("torch.ops.my.op.default", "",
               "{'as_tensors': [{'name': 'y'}, {'name': 'z'}]}, {'as_none': true}, "
               "{'as_optional_tensors': [{'as_none': true}, {'as_tensor': {'name': 'w'}}]}, "
               "{'as_sym_int': {'as_name': 'n'}}, {'as_sym_int': {'as_int': 5}}, {'as_sym_float': {'as_name': 'f'}}, "
               "{'as_sym_bool': {'as_name': 'b'}}, {'as_custom_obj': {'name': 'o', 'class_fqn': 'C'}}");
  program.tensor_values = "'w': " + TensorMetaText({}, 5);
  program.sym_int_values = "'n': {'as_expr': {'expr_str': '2*s0 + 1', 'hint': {'as_int': 7}}}";
  program.sym_float_values = "'f': {'as_float': 0.5}";
  program.sym_bool_values = "'b': {'as_bool': true}";
  const std::string text = ReadText(PackArchive(program));
  EXPECT_NE(text.find("%y: f32[2, 3], %z: f32[2, 3], "), std::string::npos) << text;
  EXPECT_NE(text.find("%w: i64[], %n: int(2*s0 + 1)"), std::string::npos) << text;
  EXPECT_NE(text.find("int(5)"), std::string::npos) << text;
  EXPECT_NE(text.find("%f: float"), std::string::npos) << text;
  EXPECT_NE(text.find("%o: object = my::op()"), std::string::npos) << text;
}

TEST(Pt2ReaderTest, ReadsSymbolicSizesAndTheirRanges) {
  ProgramText program;
  program.inputs = "{'as_tensor': {'name': 'd'}}";
  program.input_specs = "{'user_input': {'arg': {'as_tensor': {'name': 'd'}}}}";
  program.outputs = program.inputs;
  program.output_specs = "{'user_output': {'arg': {'as_tensor': {'name': 'd'}}}}";
  program.tensor_values =
      "'d': {'dtype': 7, 'sizes': [{'as_expr': {'expr_str': 's77', 'hint': null}}], 'strides': [{'as_int': 1}]}";
  program.range_constraints = "'s77': {'min_val': 2, 'max_val': 64}, 'u0': {'min_val': null, 'max_val': null}";
  Sink sink;
  auto read = ReadBytes(PackArchive(program), sink);
  ASSERT_TRUE(read) << FirstError(sink);
  Context& context = *read->impl().context;
  const Expr size = read->impl().graph.type(read->impl().inputs[0].value).sizes[0];
  EXPECT_EQ(context.exprs().Text(size), "s77");
  EXPECT_EQ(context.exprs().RangeOf(size).max, 64);
  EXPECT_EQ(read->impl().metadata.back().second, "{s77: VR[2, 64], u0: VR[-int_oo, int_oo]}");
}

TEST(Pt2ReaderTest, WarnsOfGuardsThatMakeSizesNumbers) {
  ProgramText program;
  program.others =
      "'guards_code': ['L[x].size()[0] >= 2', 'L[x].size()[0] == 3', 'L[x].size()[0] % 2 == 0', "
      "'L[x].size()[0] == L[y].size()[0] + 1', '((3*L[x].size()[1]) / 4) == 6.0'],";
  Sink sink;
  ASSERT_TRUE(ReadBytes(PackArchive(program), sink)) << FirstError(sink);
  ASSERT_EQ(sink.diagnostics().size(), 1u);
  EXPECT_EQ(sink.diagnostics()[0].message, "the captured program is right only where '((3*L[x].size()[1]) / 4) == 6.0'");
  EXPECT_EQ(sink.diagnostics()[0].location.entry, "m/models/model.json#/guards_code/4");
}

TEST(Pt2ReaderTest, ReadsSignaturesOfAllKinds) {
  ProgramText program;
  program.inputs = std::string(kX) +
                   ", {'as_int': 3}, {'as_string': 's'}, {'as_none': true}, "
                   "{'as_custom_obj': {'name': 'o', 'class_fqn': 'C'}}, {'as_tensor': {'name': 't'}}";
  program.input_specs =
      "{'user_input': {'arg': {'as_tensor': {'name': 'x'}}}}, {'constant_input': {'name': 'n', 'value': {'as_int': "
      "3}}}, "
      "{'constant_input': {'name': 's', 'value': {'as_string': 's'}}}, {'constant_input': {'name': 'e', 'value': "
      "{'as_none': true}}}, "
      "{'custom_obj': {'arg': {'name': 'o', 'class_fqn': 'C'}, 'custom_obj_name': 'obj'}}, {'token': {'arg': {'name': "
      "'t'}}}";
  program.outputs = "{}, {}, {}, {}, {}, {}, {}, {}";
  program.output_specs =
      "{'user_output': {'arg': {'as_int': 4}}}, {'user_output': {'arg': {'as_none': true}}}, {'loss_output': {'arg': "
      "{'name': 'x'}}}, "
      "{'buffer_mutation': {'arg': {'name': 'x'}, 'buffer_name': 'b'}}, "
      "{'parameter_mutation': {'arg': {'name': 'x'}, 'parameter_name': 'p'}}, "
      "{'user_input_mutation': {'arg': {'name': 'x'}, 'user_input_name': 'x'}}, "
      "{'gradient_to_parameter': {'arg': {'name': 'x'}, 'parameter_name': 'p'}}, {'token': {'arg': {'name': 't'}}}";
  Sink sink;
  auto read = ReadBytes(PackArchive(program), sink);
  ASSERT_TRUE(read) << FirstError(sink);
  EXPECT_EQ(read->impl().inputs.size(), 6u);
  EXPECT_EQ(read->impl().outputs.size(), 8u);
  EXPECT_EQ(
      read->impl().metadata[0].second,
      "\n# inputs\nx: USER_INPUT\nn: USER_INPUT\ns: USER_INPUT\ne: USER_INPUT\no: CUSTOM_OBJ target='obj'\nt: TOKEN\n"
      "\n# outputs\n: USER_OUTPUT\n: USER_OUTPUT\nx: LOSS_OUTPUT\nx: BUFFER_MUTATION target='b'\n"
      "x: PARAMETER_MUTATION target='p'\nx: USER_INPUT_MUTATION target='x'\nx: GRADIENT_TO_PARAMETER target='p'\nt: "
      "TOKEN\n");
}

// A body of `levels` nested conditions.
std::string Nested(int levels) {
  std::string graph = "{'inputs': [" + std::string(kX) + "], 'outputs': [" + std::string(kX) +
                      "], 'nodes': [], 'tensor_values': {'x': " + TensorMetaText({2, 3}) + "}}";
  for (int i = 1; i < levels; ++i) {
    const std::string node =
        NodeText("torch.ops.higher_order.cond", Input("", "{'as_graph': {'name': 'g', 'graph': " + graph + "}}"), "");
    graph = "{'inputs': [" + std::string(kX) + "], 'outputs': [" + std::string(kX) + "], 'nodes': [" + node +
            "], 'tensor_values': {'x': " + TensorMetaText({2, 3}) + "}}";
  }
  return "{'as_graph': {'name': 'g', 'graph': " + graph + "}}";
}

TEST(Pt2ReaderTest, LaunchesOfTritonKernelsAreCallsByTheirNames) {
  auto text = [](std::string_view name) {
    ProgramText program;
    program.nodes = NodeText("torch.ops.higher_order.triton_kernel_wrapper_functional",
                             fmt::format("{}, {}, {}", Input("x_ptr", kX), Input("name", name), Input("grid", "{'as_ints': [4, 1, 1]}")),
                             "{'as_tensors': [{'name': 'y'}]}");
    return ReadText(PackArchive(program));
  };
  const std::string hash(52, 'Q');
  EXPECT_NE(text("{'as_string': 'add_kernel_" + hash + "'}").find("%y: f32[2, 3] = triton::add_kernel.functionalized(x_ptr=%x, "), std::string::npos)
      << text("{'as_string': 'add_kernel_" + hash + "'}");
  EXPECT_NE(text("{'as_string': 'add_kernel'}").find("triton::add_kernel.functionalized("), std::string::npos);
  for (const std::string_view odd : {"{'as_string': ''}", "{'as_string': 'a.b'}", "{'as_int': 1}"})
    EXPECT_NE(text(odd).find("higher_order::triton_kernel_wrapper_functional("), std::string::npos) << text(odd);
}

TEST(Pt2ReaderTest, AsksForTheKernelThatTheArchiveDoesNotName) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.higher_order.triton_kernel_wrapper_mutation",
                           fmt::format("{}, {}", Input("kernel_idx", "{'as_int': 0}"), Input("grid", "{'as_int_lists': [[1, 1, 1]]}")),
                           "{'as_none': true}");
  EXPECT_TRUE(ReadText(PackArchive(program)).starts_with("missing-information: the archive does not say which Triton kernel is launched")) << ReadText(PackArchive(program));
}

TEST(Pt2ReaderTest, ReadsNestedGraphsWithTheirOwnNames) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.higher_order.wrap_with_set_grad_enabled",
                           Input("", "{'as_bool': false}") + ", " + Input("", Nested(1)) + ", " + Input("", kX), kY);
  const std::string text = ReadText(PackArchive(program));
  EXPECT_NE(text.find("higher_order::wrap_with_set_grad_enabled(arg0=False, arg1=("), std::string::npos) << text;
  EXPECT_NE(text.find("arg2=%x)"), std::string::npos) << text;
}

TEST(Pt2ReaderTest, LimitsNesting) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.higher_order.cond", Input("", Nested(63)), "");
  EXPECT_TRUE(ReadText(PackArchive(program)).starts_with("strides known")) << ReadText(PackArchive(program));
  program.nodes = NodeText("torch.ops.higher_order.cond", Input("", Nested(64)), "");
  EXPECT_TRUE(ReadText(PackArchive(program)).starts_with("limit-exceeded: graphs are nested more than 64 deep"));
}

TEST(Pt2ReaderTest, RefusesSchemasOfOtherMajorVersions) {
  ProgramText program;
  program.schema_version = "{'major': 9, 'minor': 1}";
  EXPECT_EQ(ReadText(PackArchive(program)),
            "unsupported-version: the program was saved by torch 2.99.0 in version 9.1 of the schema; versions 1 to 8 "
            "are read "
            "[m/models/model.json#/schema_version]");
  program.schema_version = "{'major': 8, 'minor': 999, 'patch': 1}";
  program.others = "'guards_code': [], 'something_new': {'a': 1},";
  EXPECT_TRUE(ReadText(PackArchive(program)).find("return %x") != std::string::npos);
}

TEST(Pt2ReaderTest, RefusesInconsistentPrograms) {
  ProgramText program;
  program.nodes = NodeText("torch.ops.my.op.default", "", kX);
  EXPECT_EQ(ReadText(PackArchive(program)),
            "bad-program: 'x' is defined twice [m/models/model.json#/graph_module/graph/nodes/0/outputs]");
  program.nodes = NodeText("torch.ops.my.op.default", "", "{'as_tensor': {'name': 'unheard'}}");
  EXPECT_EQ(ReadText(PackArchive(program)),
            "bad-program: the graph does not describe the tensor 'unheard' "
            "[m/models/model.json#/graph_module/graph/nodes/0/outputs/0/as_tensor]");
  program.nodes = "7";
  EXPECT_EQ(ReadText(PackArchive(program)),
            "bad-json: expected an object, found an integer [m/models/model.json#/graph_module/graph/nodes/0]");
  program.nodes.clear();
  program.input_specs += ", " + program.input_specs;
  EXPECT_TRUE(ReadText(PackArchive(program))
                  .starts_with("bad-program: the signature has 2 inputs and 1 outputs, the graph 1 and 1"));
  program.input_specs = "{'secret_input': {}}";
  EXPECT_TRUE(ReadText(PackArchive(program)).starts_with("bad-json: 'secret_input' is no kind of input"));
}

TEST(Pt2ReaderTest, ReadsTheUsersNamesOfDimensions) {
  Sink sink;
  auto read = ReadBytes(PackArchive({}, "", "",
                                    {{"extra/flambeau.json",
                                      R"({"dimension_names": [{"input": 0, "dim": 1, "name": "width"}], "new": 1})"}}),
                        sink);
  ASSERT_TRUE(read) << FirstError(sink);
  ASSERT_EQ(read->impl().dimension_names.size(), 1u);
  EXPECT_EQ(read->impl().dimension_names[0].name, "width");
  EXPECT_EQ(read->impl().dimension_names[0].dim, 1u);
}

TEST(Pt2ReaderTest, PicksTheModel) {
  const std::string config = R"({"config": {}})";
  const testing::Entries two = {{"models/model.json", ""},
                                {"models/b.json", ProgramText().Json()},
                                {"models/a.json", "broken"},
                                {"data/weights/b_weights_config.json", config},
                                {"data/constants/b_constants_config.json", config}};
  const std::string bytes = PackArchive({}, "", "", two);
  EXPECT_EQ(ReadText(bytes), "missing-information: the archive holds 2 models, none of them named 'model'");
  Sink sink;
  const auto archive = ZipArchive::Open(MemoryFile(bytes), sink);
  ASSERT_TRUE(archive);
  EXPECT_EQ(ModelsOfPt2(*archive), (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(ReadPt2(*archive, sink, "b"));
  EXPECT_FALSE(sink.HasErrors());
  EXPECT_FALSE(ReadPt2(*archive, sink, "c"));
  EXPECT_EQ(FirstError(sink), "bad-option: the archive holds no model 'c'");
  EXPECT_EQ(ReadText(PackArchive({}, "", "", {{"models/model.json", ""}})),
            "missing-entry: the archive holds no exported program");
}

TEST(Pt2ReaderTest, ChecksTheMarkers) {
  EXPECT_EQ(ReadText(PackArchive({}, "", "", {{"byteorder", "middle"}})),
            "bad-archive: the byte order is 'middle', neither 'little' nor 'big' [m/byteorder]");
  EXPECT_EQ(ReadText(PackArchive({}, "", "", {{"archive_version", "1"}})),
            "unsupported-version: the version of the archive is '1', not '0' [m/archive_version]");
}

TEST(Pt2ReaderTest, RecognisesItsArchives) {
  Sink sink;
  EXPECT_TRUE(LooksLikePt2(*ZipArchive::Open(MemoryFile(PackArchive({})), sink)));
  EXPECT_TRUE(
      LooksLikePt2(*ZipArchive::Open(MemoryFile(Pack({Stored("serialized_exported_program.json", "{}")})), sink)));
  EXPECT_FALSE(
      LooksLikePt2(*ZipArchive::Open(MemoryFile(Pack({Stored("m/data.pkl", "x"), Stored("m/version", "3")})), sink)));
}

TEST(Pt2ReaderTest, MakesCallsOfOlderVersionsTodays) {
  ProgramText program;
  program.outputs = "{'as_tensor': {'name': 'y'}}";
  program.output_specs = "{'user_output': {'arg': {'as_tensor': {'name': 'y'}}}}";
  program.nodes = NodeText("torch._higher_order_ops.wrap.wrap_with_set_grad_enabled", Input("", "{'as_bool': false}"),
                           "{'as_tensor': {'name': 'y'}}");
  EXPECT_NE(ReadText(PackArchive(program)).find("higher_order::wrap_with_set_grad_enabled(arg0=False)"), std::string::npos)
      << ReadText(PackArchive(program));
}

TEST(Pt2ReaderTest, ReadsTheOldLayout) {
  ProgramText program;
  program.schema_version = "{'major': 7, 'minor': 3}";
  std::vector<testing::ZipItem> items = {Stored("serialized_exported_program.json", program.Json()),
                                         Stored("serialized_constants.pt", ""), Stored("version", "7.3")};
  EXPECT_EQ(ReadText(Pack(items)), "missing-entry: the archive has no entry 'serialized_state_dict.pt'");
  items.push_back(Stored("serialized_state_dict.pt", ""));
  EXPECT_NE(ReadText(Pack(items)).find("return %x"), std::string::npos);
  items.back() = Stored("serialized_state_dict.pt", "PK but no archive");
  EXPECT_TRUE(ReadText(Pack(items)).starts_with("bad-archive: ")) << ReadText(Pack(items));
}

}  // namespace
}  // namespace flambeau
